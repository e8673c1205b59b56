import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { localBytesByDay } from '../../store/sqlite/node/offloadedObjects.ts';

const PAGE = 1_000;

/**
 * Returns the newest day (`2026-11-22`) of which objects have to leave so that the newest ones of `keepBytes` stay;
 * undefined if none has to. Reads all rows, a page at a time.
 */
export async function newestDayToLeave(
  database: ReadDatabase,
  keepBytes: number,
): Promise<string | undefined> {
  const bytesByDay = new Map<string, number>();
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = localBytesByDay(database, after, PAGE);
    for (const { day, bytes } of page.days) bytesByDay.set(day, (bytesByDay.get(day) ?? 0) + bytes);
    after = page.last;
    await new Promise((resolve) => setImmediate(resolve));
  }
  let kept = 0;
  for (const [day, bytes] of [...bytesByDay].sort(([left], [right]) => (left < right ? 1 : -1))) {
    kept += bytes;
    if (kept > keepBytes) return day;
  }
  return undefined;
}
