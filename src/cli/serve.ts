/** `completionist serve`: loads the models it starts with, serves until told to stop. */
import type { Access } from "../access/access.ts";
import { refuseOpenServer } from "../config/exposure.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/settings.ts";
import { openPool, preload } from "../models/open-pool.ts";
import { createLog, type Log } from "../observe/log.ts";
import { openTracing } from "../observe/open-tracing.ts";
import { type ApiServer, createApiServer } from "./api-server.ts";
import { readModelEntries } from "./catalog-settings.ts";
import { drain, listen, probeAddress } from "./listening.ts";
import { openServerAccess } from "./server-access.ts";
import { type StopSignals, signalExitCode, watchStopSignals } from "./stop-signals.ts";
import { packageVersion } from "./version.ts";
import { welcomeText } from "./welcome.ts";

/** Resolves with the exit code when the server has stopped. */
export async function serve(loaded: LoadedConfiguration): Promise<number> {
  const { configuration, warnings } = loaded;
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat });
  for (const warning of warnings) log.warn(warning);
  if (configuration.logPrompts) log.warn("prompts and completions are written to the log");
  const signals = watchStopSignals();
  try {
    // Before the model: a database that cannot be used would show only after a long load.
    const access = await openServerAccess(configuration, log);
    try {
      refuseOpenServer(configuration, access.keysInUse);
      return await untilStopped(configuration, { access, log, signals });
    } finally {
      // After everything that may still have something to record.
      await access.close();
    }
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    throw error;
  } finally {
    signals.dispose();
  }
}

interface ServeParts {
  readonly access: Access;
  readonly log: Log;
  readonly signals: StopSignals;
}

async function untilStopped(configuration: Configuration, parts: ServeParts): Promise<number> {
  const { access, log, signals } = parts;
  const { host, port } = configuration;
  const { entries, first, warnings } = readModelEntries(configuration);
  for (const warning of warnings) log.warn(warning);
  // Better now than after a download.
  await probeAddress(host, port);
  const pool = openPool(entries, { memory: configuration.memory, log });
  const cut = new AbortController();
  const tracing = await openTracing({ environment: process.env, version: packageVersion(), log });
  const shutdown = cut.signal;
  try {
    const vital = await preload(pool, entries, signals.stopped);
    const server = createApiServer(configuration, { pool, vital, access, log, tracing, shutdown });
    await listen(server, host, port);
    announce(configuration, server, { model: first, needsKey: access.keysInUse });
    await stopRequested(signals.stopped);
    log.info({ signal: signals.signal }, "stopping");
    await drain(server, cut, configuration.drain * 1000);
    return 0;
  } finally {
    await pool.close();
    await tracing.close();
  }
}

function announce(
  configuration: Configuration,
  server: ApiServer,
  told: { readonly model: string; readonly needsKey: boolean },
): void {
  const address = server.server.address();
  const text = welcomeText({
    host: configuration.host,
    port: typeof address === "object" && address !== null ? address.port : configuration.port,
    basePath: configuration.basePath,
    ...told,
  });
  process.stdout.write(`${text}\n`);
}

function stopRequested(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    else stopped.addEventListener("abort", () => resolve(), { once: true });
  });
}
