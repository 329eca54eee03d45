/** A server process that lets two requests in and never settles them: for tests that kill it. */
import type { DatabaseSettings } from "../location.ts";
import { type AccessOptions, openAccess } from "../open-access.ts";

interface Orders {
  readonly settings: DatabaseSettings;
  readonly nowMs: number;
  readonly secret: string;
}

const { settings, nowMs, secret } = JSON.parse(process.argv[2] ?? "") as Orders;
const silent = () => undefined;
const access = await openAccess({
  ...settings,
  configuredKeys: [],
  keepUsageDays: undefined,
  log: { info: silent, warn: silent, error: silent } as unknown as AccessOptions["log"],
  nowMs: () => nowMs,
});
const principal = await access.authenticate(`Bearer ${secret}`);
for (const index of [1, 2]) {
  await access.reserve({
    principal,
    user: undefined,
    requestId: `req_${index}`,
    completionId: `cmpl-held-${index}`,
    model: "tiny",
    promptTokens: 10,
    completionTokensMax: 90,
    candidates: 1,
  });
}
process.stdout.write("holding\n");
setInterval(silent, 60_000);
