/** The server's own process. Nothing here runs between scrapes. */
import type { MetricMaker } from "./metric-maker.ts";

export function addProcessMetrics(make: MetricMaker, version: string): void {
  const one = (read: () => number) => () => [{ labels: {}, value: read() }];
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  make.readGauge("build_info", "1; the label is the version.", ["version"], () => [
    { labels: { version }, value: 1 },
  ]);
  make.readGauge(
    "process_resident_memory_bytes",
    "Memory of the server's process, without the engine's.",
    [],
    one(() => process.memoryUsage.rss()),
  );
  make.readGauge(
    "process_heap_used_bytes",
    "JavaScript objects of the server's process.",
    [],
    one(() => process.memoryUsage().heapUsed),
  );
  make.readGauge(
    "process_start_time_seconds",
    "When the server's process started, in Unix seconds.",
    [],
    one(() => startSeconds),
  );
  make.readCounter(
    "process_cpu_seconds_total",
    "Processor time of the server's process, without the engine's.",
    [],
    one(cpuSeconds),
  );
  make.readCounter(
    "event_loop_active_seconds_total",
    "Time in which the server's event loop was busy: near 1 a second, it is the bottleneck.",
    [],
    one(() => performance.eventLoopUtilization().active / 1000),
  );
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
