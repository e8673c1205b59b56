import { cp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { copyOf, digestsIn, type KilledArchive, killedArchive, run } from './support.ts';

/*
 * Each kind of damage to a data folder, and the message of each command. No command may change a file, so that the
 * evidence and the remaining data are preserved.
 */

let unsigned: KilledArchive;
let signed: KilledArchive;
let other: string;
beforeAll(async () => {
  unsigned = await killedArchive({ isSigned: false });
  signed = await killedArchive({ isSigned: true });
  const node = await openTestNode();
  await node.close();
  other = node.dataFolder;
});
afterAll(closeTestNodes);

const DATABASE = 'strongroom.db';
const LOG = 'strongroom.db-wal';

async function flip(file: string, at: (bytes: Buffer) => number): Promise<void> {
  const bytes = await readFile(file);
  const position = at(bytes);
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

async function putOlderBack(folder: string): Promise<void> {
  await cp(unsigned.olderDatabase, join(folder, DATABASE));
  await rm(join(folder, LOG));
}

interface Damage {
  what: string;
  of: () => KilledArchive;
  damage: (folder: string) => Promise<void>;
  message: RegExp;
  /** The exit code of `ledger verify`, which reads only the ledger. */
  ledger: 0 | 1 | 2;
}

const older = /older than this archive, or another one.*ends with entry 1.*accept-rollback/;
const missing = /other files of an archive.*Restore strongroom\.db.*strongroom rebuild/;

const DAMAGES: Damage[] = [
  {
    what: 'the log was removed after a kill',
    of: () => unsigned,
    damage: (folder) => rm(join(folder, LOG)),
    message: older,
    ledger: 1,
  },
  {
    what: 'the log was emptied after a kill',
    of: () => unsigned,
    damage: (folder) => truncate(join(folder, LOG), 0),
    message: older,
    ledger: 1,
  },
  {
    what: 'the log was truncated in its last page',
    of: () => unsigned,
    damage: async (folder) => truncate(join(folder, LOG), (await readFile(join(folder, LOG))).length - 100),
    message: /older than this archive, or another one/,
    ledger: 1,
  },
  {
    what: 'one bit of the log’s last page was flipped',
    of: () => unsigned,
    damage: (folder) => flip(join(folder, LOG), (bytes) => bytes.length - 100),
    message: /older than this archive, or another one/,
    ledger: 1,
  },
  {
    what: 'one bit of the log’s first page was flipped',
    of: () => unsigned,
    damage: (folder) => flip(join(folder, LOG), () => 200),
    message: older,
    ledger: 1,
  },
  {
    what: 'an older database was put back, and no checkpoint was published',
    of: () => unsigned,
    damage: putOlderBack,
    message: older,
    ledger: 1,
  },
  {
    what: 'an older database was restored, and the head is missing',
    of: () => signed,
    damage: async (folder) => {
      await cp(signed.olderDatabase, join(folder, DATABASE));
      await rm(join(folder, LOG));
      await rm(join(folder, 'head'));
    },
    message: /ends with entry 1, but a checkpoint over 2 entries was signed/,
    ledger: 1,
  },
  {
    what: 'the database was replaced by that of another archive',
    of: () => signed,
    damage: async (folder) => {
      await cp(join(other, DATABASE), join(folder, DATABASE));
      await rm(join(folder, LOG));
    },
    message: /ends with entry 0, but entry 2 was acknowledged/,
    ledger: 1,
  },
  {
    what: 'the database was removed',
    of: () => unsigned,
    damage: (folder) => rm(join(folder, DATABASE)),
    message: missing,
    ledger: 2,
  },
  {
    what: 'the database is an empty file',
    of: () => unsigned,
    damage: (folder) => truncate(join(folder, DATABASE), 0),
    message: missing,
    ledger: 2,
  },
  {
    what: 'the database has no tables, and head, checkpoint and log were removed',
    of: () => signed,
    damage: async (folder) => {
      for (const name of [LOG, DATABASE, 'head', 'checkpoint']) await rm(join(folder, name));
      const database = new Database(join(folder, DATABASE));
      database.pragma('journal_mode = WAL');
      database.close();
    },
    message: /a database without tables.*other files of an archive.*blobs\/.*Restore strongroom\.db/,
    ledger: 2,
  },
  {
    what: 'the database file is no database',
    of: () => unsigned,
    damage: (folder) => writeFile(join(folder, DATABASE), 'This is no database. '.repeat(400)),
    message: /strongroom\.db is not a database/,
    ledger: 2,
  },
  {
    what: 'the key was removed',
    of: () => unsigned,
    damage: (folder) => rm(join(folder, 'key')),
    message: /key .*is missing.*backup.*key --renew/,
    ledger: 0,
  },
  {
    what: 'the key was replaced by another one',
    of: () => unsigned,
    damage: (folder) => cp(join(other, 'key'), join(folder, 'key')),
    message: /key .*is not the key of this archive/,
    ledger: 0,
  },
  {
    what: 'the head file was overwritten',
    of: () => unsigned,
    damage: (folder) => writeFile(join(folder, 'head'), 'nothing'),
    message: /head, which records the last ledger entry, is damaged/,
    ledger: 1,
  },
  {
    what: 'the stored checkpoint was altered',
    of: () => signed,
    damage: (folder) => flip(join(folder, 'checkpoint'), (bytes) => bytes.indexOf('\n') + 1),
    message: /stored checkpoint .*checkpoint cannot be verified/,
    ledger: 1,
  },
];

describe.each(DAMAGES)('$what', ({ of, damage, message, ledger }) => {
  test('every command refuses with one line and changes no file', async () => {
    const folder = await copyOf(of().folder);
    await damage(folder);
    const before = await digestsIn(folder);
    const pack = join(await temporaryFolder(), 'nothing.warc');
    await writeFile(pack, 'WARC/1.1\r\n');
    const commands = [
      ['serve', '--port', '0', '--data', folder],
      ['audit', '--data', folder],
      ['check', '--data', folder],
      ['watch', 'https://strongroom.example/', '--data', folder],
      ['import', pack, '--data', folder],
      ['export', '--data', folder, '--out', join(await temporaryFolder(), 'out.zip')],
    ];
    for (const command of commands) {
      const { code, output } = await run(...command);
      expect(output, command[0]).toMatch(message);
      expect(output.trim().split('\n'), command[0]).toHaveLength(1);
      expect(code, command[0]).toBe(2);
      expect(await digestsIn(folder), command[0]).toEqual(before);
    }
    const verified = await run('ledger', 'verify', '--data', folder);
    expect(verified.code).toBe(ledger);
    if (ledger > 0) expect(verified.output).toMatch(message);
    const { [LOG]: logAfter, ...after } = await digestsIn(folder);
    const { [LOG]: log, ...untouched } = before;
    expect(after).toEqual(untouched);
    // `ledger verify` may create an empty log if there was none.
    if (log !== undefined) expect(logAfter).toBe(log);
    await expect(openTestNode({ dataFolder: folder })).rejects.toThrow(message);
  });
});

test('an undamaged archive of a killed node opens with everything in it', async () => {
  for (const { folder, packs } of [unsigned, signed]) {
    const node = await openTestNode({ dataFolder: await copyOf(folder) });
    for (const { id } of packs) expect((await node.fetch(`/api/packs/${id}`)).status).toBe(200);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 2 });
  }
});

test('a refused archive opens once the removed file is put back', async () => {
  const folder = await copyOf(unsigned.folder);
  await rm(join(folder, LOG));
  await expect(openTestNode({ dataFolder: folder })).rejects.toThrow(older);
  await cp(join(unsigned.folder, LOG), join(folder, LOG));
  const node = await openTestNode({ dataFolder: folder });
  for (const { id } of unsigned.packs) expect((await node.fetch(`/api/packs/${id}`)).status).toBe(200);
});
