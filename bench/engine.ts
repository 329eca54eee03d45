/**
 * `npm run bench` in a checkout: the same program as `completionist bench`.
 */
process.argv.splice(2, 0, "bench");
await import("../src/cli/main.ts");
