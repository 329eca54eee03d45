import { expect, test } from "vitest";
import { batchMax, GroupCommit } from "./group-commit.ts";

const hopeless = new Error("locked");

/** Transactions that write down what happens; `failCommit` says which commits fail. */
function setUp(options: { failBegin?: boolean; failCommit?: (written: string) => boolean } = {}) {
  const log: string[] = [];
  let written: string[] = [];
  const group = new GroupCommit(
    {
      begin: () => {
        if (options.failBegin) throw hopeless;
        written = [];
        log.push("begin");
      },
      commit: () => {
        if (options.failCommit?.(written.join(""))) throw new Error("disk full");
        log.push(`commit ${written.join("")}`);
      },
      rollback: () => {
        log.push("rollback");
      },
    },
    (error) => error === hopeless,
  );
  const write = (name: string, fails?: Error) =>
    new Promise<unknown>((resolve, reject) => {
      group.add({
        run: async () => {
          if (fails !== undefined) throw fails;
          written.push(name);
          return name;
        },
        resolve: (output) => {
          log.push(`answer ${name}`);
          resolve(output);
        },
        reject,
      });
    });
  return { group, log, write };
}

test("what waits goes into one transaction, in order, and is answered after the commit", async () => {
  const { log, write } = setUp();
  const outputs = await Promise.all([write("a"), write("b"), write("c")]);
  expect(outputs).toEqual(["a", "b", "c"]);
  expect(log).toEqual(["begin", "commit abc", "answer a", "answer b", "answer c"]);
});

test("one that fails takes nobody with it: each is run again alone", async () => {
  const { log, write } = setUp();
  const bad = write("b", new Error("bad"));
  const results = await Promise.allSettled([write("a"), bad, write("c")]);
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  await expect(bad).rejects.toThrow("bad");
  expect(log.filter((line) => line.startsWith("commit"))).toEqual(["commit a", "commit c"]);
});

test("a commit that fails is undone, and what can be committed alone is", async () => {
  const { log, write } = setUp({ failCommit: (written) => written.includes("b") });
  const results = await Promise.allSettled([write("a"), write("b"), write("c")]);
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(log).toContain("rollback");
});

test("nobody is answered before the commit that holds it", async () => {
  const { log, write } = setUp();
  await Promise.all([write("a"), write("b")]);
  expect(log.indexOf("answer a")).toBeGreaterThan(log.indexOf("commit ab"));
});

test("a database that is locked is not asked again for each", async () => {
  const { log, write } = setUp({ failBegin: true });
  const results = await Promise.allSettled([write("a"), write("b")]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  expect(log).toEqual([]);
});

test("one transaction has at most batchMax operations, and all get their turn", async () => {
  const { group, log, write } = setUp();
  const names = Array.from({ length: 2 * batchMax + 1 }, () => "x");
  await Promise.all(names.map((name) => write(name)));
  await group.idle();
  const commits = log.filter((line) => line.startsWith("commit"));
  expect(commits.map((line) => line.length - "commit ".length)).toEqual([batchMax, batchMax, 1]);
});

test("what comes while a transaction runs joins the next one", async () => {
  const { log, write } = setUp();
  const later: Promise<unknown>[] = [];
  const first = write("a").then(() => {
    later.push(write("b"), write("c"));
  });
  await first;
  await Promise.all(later);
  expect(log.filter((line) => line.startsWith("commit"))).toEqual(["commit a", "commit bc"]);
});
