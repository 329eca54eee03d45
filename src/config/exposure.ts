/** Whether an address is reachable from this machine only, and what follows from that. */
import { isIPv4, isIPv6 } from "node:net";
import { ConfigurationError } from "./configuration-error.ts";
import type { Configuration } from "./settings.ts";

/** Addresses of the machine itself: 127.0.0.0/8, ::1 (mapped ones too) and `localhost`. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (isIPv4(name)) return name.startsWith("127.");
  if (!isIPv6(name)) return false;
  return name === "::1" || name === "0:0:0:0:0:0:0:1" || name.startsWith("::ffff:127.");
}

/**
 * Throws when the server would be open to the network without anybody having said so. Keys may be
 * in the configuration or in the database.
 */
export function refuseOpenServer(
  configuration: Pick<Configuration, "host" | "noAuth">,
  keysInUse: boolean,
): void {
  if (isLoopback(configuration.host) || keysInUse || configuration.noAuth) return;
  throw new ConfigurationError(
    `without an API key only loopback addresses are served, not ${configuration.host}: set ` +
      "COMPLETIONIST_API_KEY, create a key (completionist keys create), or say --no-auth if " +
      "everybody who reaches the port may use the model",
  );
}
