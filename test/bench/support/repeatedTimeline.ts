import { databaseFile } from '../../../server/store/files.ts';
import { openForWriting, statement, type WriteDatabase } from '../../../server/store/sqlite/engine/open.ts';

/** Opens the archive of a data folder in one fast transaction, which a crash may destroy. */
function change(folder: string, work: (database: WriteDatabase) => void): void {
  const database = openForWriting(databaseFile(folder));
  for (const setting of [
    'journal_mode = OFF',
    'synchronous = OFF',
    'foreign_keys = OFF',
    'cache_size = -1000000',
  ])
    database.pragma(setting);
  database.transaction(() => work(database))();
  database.close();
}

/**
 * Leaves the node of an archive of `fillTimeline` without work of its own: no source is due, and no text is to be
 * indexed. Its objects have no bytes and its sources do not exist.
 */
export function leaveNoWork(folder: string): void {
  change(folder, (database) => {
    database.exec(`UPDATE sources SET next_check_at = '2100-01-01T00:00:00.000Z';
      DELETE FROM wanted_texts;
      UPDATE counters SET value = (SELECT max(id) FROM events)
      WHERE name IN ('events_judged', 'events_summarized')`);
  });
}

/**
 * Repeats the events of an archive of `fillTimeline` this many times, each time later. Only what the timeline reads
 * is written, and no ledger entries: such an archive can be looked at, but not verified. It takes seconds where
 * recording takes minutes.
 */
export function repeatTimeline(folder: string, times: number): void {
  change(folder, (database) => {
    const dropped = statement<{ name: string; type: string; sql: string }>(
      database,
      `SELECT name, type, sql FROM sqlite_master
       WHERE tbl_name = 'events' AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY rowid`,
    ).all();
    for (const { name, type } of dropped) database.exec(`DROP ${type} ${name}`);
    const count = statement<number>(database, 'SELECT count(*) FROM events').pluck().get() ?? 0;
    for (let time = 1; time < times; time += 1) repeatOnce(database, count, time * count);
    database.exec(`DELETE FROM event_counts;
      INSERT INTO event_counts SELECT source_key, event_type, observer, count(*) FROM events GROUP BY 1, 2, 3;
      INSERT INTO event_counts SELECT 0, event_type, observer, count(*) FROM events GROUP BY 2, 3`);
    for (const { sql } of dropped) database.exec(sql);
  });
}

/** Copies the first events to ids that are higher by `shift`, and to times that are as many minutes later. */
function repeatOnce(database: WriteDatabase, count: number, shift: number): void {
  for (const sql of [
    `INSERT INTO events (id, source_key, retrieval, event_type, observer, observed_at, original_observed_at,
       sha256, previous_sha256, ledger_entry)
     SELECT id + :shift, source_key, retrieval, event_type, observer,
       strftime('%Y-%m-%dT%H:%M:%fZ', observed_at, :shift || ' minutes'), original_observed_at,
       sha256, previous_sha256, 1000000000 + id + :shift FROM events WHERE id <= :count`,
    `INSERT INTO event_summaries (event, summary, rules_digest)
     SELECT event + :shift, summary, rules_digest FROM event_summaries WHERE event <= :count`,
    `INSERT INTO event_noise (event, is_noise, rules_digest, change, outside)
     SELECT event + :shift, is_noise, rules_digest, change, outside FROM event_noise WHERE event <= :count`,
  ])
    statement(database, sql).run({ count, shift });
}
