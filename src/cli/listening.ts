/** From the first connection that a server takes to the last that it lets go. */
import { createServer as createProbe } from "node:net";
import type { ApiServer } from "./api-server.ts";
import { listenProblem } from "./user-error.ts";

/** Time for answers to be cut and connections to close once the drain time is over. */
const cutMs = 2_000;

/** Rejects when nothing can listen there, and listens no longer than that takes. */
export async function probeAddress(host: string, port: number): Promise<void> {
  const probe = createProbe();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once("error", reject);
      probe.listen({ host: plainHost(host), port, exclusive: true }, resolve);
    });
  } catch (error) {
    throw listenProblem(error, host, port);
  }
  await new Promise((resolve) => probe.close(resolve));
}

export async function listen(server: ApiServer, host: string, port: number): Promise<void> {
  try {
    await server.listen({ host: plainHost(host), port });
  } catch (error) {
    throw listenProblem(error, host, port);
  }
}

const plainHost = (host: string): string => host.replace(/^\[|\]$/g, "");

/** Lets running requests end; those that take longer than `drainMs` are told so and cut. */
export async function drain(
  server: ApiServer,
  cut: AbortController,
  drainMs: number,
): Promise<void> {
  const closed = server.close();
  if (await endsWithin(closed, drainMs)) return;
  cut.abort();
  if (await endsWithin(closed, cutMs)) return;
  server.server.closeAllConnections();
}

async function endsWithin(work: PromiseLike<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([Promise.resolve(work).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
