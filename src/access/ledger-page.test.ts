import { readFileSync } from "node:fs";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { connectSqlite, migrateSqlite } from "./sqlite-connection.ts";

const page = readFileSync(new URL("../../docs/reference/ledger.md", import.meta.url), "utf8");

/** Names in the first column of each table that is marked with a comment. */
function documentedColumns(): Record<string, readonly string[]> {
  const parts = page.split(/<!-- table: (\w+) -->/).slice(1);
  const tables: Record<string, readonly string[]> = {};
  for (let index = 0; index < parts.length; index += 2) {
    const text = (parts[index + 1] ?? "").split(/\n## /)[0] ?? "";
    const names = [...text.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1] ?? "");
    tables[parts[index] ?? ""] = names;
  }
  return tables;
}

test("docs/reference/ledger.md explains every column of every table, and no other", async () => {
  const connection = connectSqlite({ file: ":memory:", busyTimeoutMs: 0 });
  await migrateSqlite(connection);
  const query = sql<{ table: string; column: string }>`
    select m.name as "table", c.name as "column"
    from sqlite_master m, pragma_table_info(m.name) c
    where m.type = 'table' and m.name not like 'sqlite_%' order by m.name, c.cid`;
  const { rows } = await query.execute(connection.db);
  const tables: Record<string, string[]> = {};
  for (const { table, column } of rows) {
    tables[table] ??= [];
    tables[table].push(column);
  }
  const sorted = (columns: Record<string, readonly string[]>) =>
    Object.entries(columns).map(([table, names]) => [table, names.toSorted()]);
  expect(Object.fromEntries(sorted(documentedColumns()))).toEqual(
    Object.fromEntries(sorted(tables)),
  );
  connection.close();
});
