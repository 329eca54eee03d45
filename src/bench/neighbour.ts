/**
 * A busy neighbour: a process that uses up one core, as other programs of a machine do. It ends with
 * the bench, and by itself after ten minutes.
 */
const livesMs = 10 * 60_000;
const sliceMs = 50;
const startMs = performance.now();

process.on("disconnect", () => process.exit(0));

// A turn of the event loop between slices: in it the end of the bench is noticed.
function slice(): void {
  const untilMs = performance.now() + sliceMs;
  while (performance.now() < untilMs);
  if (performance.now() - startMs > livesMs) process.exit(0);
  setImmediate(slice);
}

slice();
