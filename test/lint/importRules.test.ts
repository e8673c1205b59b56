import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkImports } from './checkImports.ts';

const root = resolve(import.meta.dirname, '../..');

/** File, the line in it, and what the linter must say (null: nothing). */
const cases: [file: string, line: string, why: string | null][] = [
  ['shared/ok.ts', "import 'zod';", null],
  ['shared/near.ts', "import './ok.ts';", null],
  ['shared/bare.ts', "import 'express';", 'shared/ runs in the server, in workers and in the browser'],
  ['shared/scoped.ts', "import '@zip.js/zip.js';", 'shared/ runs in the server'],
  ['shared/node.ts', "import 'node:fs';", 'shared/ runs in the server'],
  ['shared/server.ts', "import '../server/config.ts';", 'shared/ runs in the server'],
  ['shared/dynamic.ts', "void import('express');", 'shared/ runs in the server'],

  ['server/store/ok.ts', "import 'better-sqlite3';", null],
  ['server/store/builtin.ts', "import 'node:fs/promises';", null],
  ['server/store/sqlite/ok.ts', "import '../../../shared/limits.ts';", null],
  ['server/store/bare.ts', "import 'express';", 'server/store is the lowest layer'],
  ['server/store/up.ts', "import '../ledger/entry.ts';", 'server/store is the lowest layer'],
  ['server/store/blobs/up.ts', "import '../../archive/studies.ts';", 'server/store is the lowest layer'],

  ['server/other.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],
  ['server/electron.ts', "import 'electron';", 'Only electron/ imports Electron'],
  ['server/renderer.ts', "import '../renderer/src/main.tsx';", 'server/ runs without a window'],
  ['server/runtime/sql.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],
  ['server/runtime/up.ts', "import '../http/app.ts';", 'it does not depend on what they do'],
  ['server/hashing/up.ts', "import '../archive/studies.ts';", 'it does not depend on what they are'],
  ['server/zip/up.ts', "import '../archive/studies.ts';", 'it does not depend on what is in them'],

  ['server/ledger/ok.ts', "import '../store/sqlite/open.ts';", null],
  [
    'server/ledger/archive.ts',
    "import '../archive/studies.ts';",
    'ledger/ imports store/, shared/ and timers only',
  ],
  ['server/ledger/sql.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],

  ['server/archive/ok.ts', "import '../ledger/entry.ts';\nimport '../hashing/hash.ts';", null],
  ['server/archive/packs/ok.ts', "import '../nodes.ts';\nimport '../../store/sqlite/open.ts';", null],
  [
    'server/archive/packs/peer.ts',
    "import '../../collection/sources.ts';",
    'archive/ and collection/ import ledger/',
  ],
  ['server/archive/http.ts', "import '../http/app.ts';", 'services do not import each other'],
  ['server/archive/cites.ts', "import '../citations/citations.ts';", 'services do not import each other'],
  ['server/citations/ok.ts', "import '../findings/findings.ts';", null],
  ['server/citations/up.ts', "import '../http/app.ts';", 'citations/ cites what services recorded'],
  ['server/harvesting/up.ts', "import '../collection/view.ts';", 'describes packs as they are cited'],
  ['server/archive/cli.ts', "import '../cli.ts';", 'archive/ and collection/ import ledger/'],
  ['server/archive/sql.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],

  ['server/collection/ok.ts', "import '../ledger/entry.ts';\nimport 'undici';", null],
  ['server/collection/peer.ts', "import '../archive/studies.ts';", 'archive/ and collection/ import ledger/'],
  ['server/collection/diff/http.ts', "import '../../http/app.ts';", 'services do not import each other'],
  ['server/fixity/ok.ts', "import '../ledger/entry.ts';\nimport '../hashing/hash.ts';", null],
  ['server/fixity/archive.ts', "import '../archive/studies.ts';", 'fixity/ checks and repairs bytes'],
  ['server/fixity/http.ts', "import '../http/app.ts';", 'fixity/ checks and repairs bytes'],
  ['server/verification/http.ts', "import '../http/app.ts';", 'they do not import it'],

  ['server/http/ok.ts', "import '../archive/studies.ts';\nimport 'express';", null],
  ['server/http/fs.ts', "import 'node:fs';", 'A route accesses no file'],
  ['server/http/routes/fs.ts', "import 'node:fs/promises';", 'A route accesses no file'],
  ['server/http/delivery/blobs.ts', "import 'node:fs';", null],
  ['server/http/store.ts', "import '../store/sqlite/engine/open.ts';", 'calls one service function'],
  ['server/http/wiring.ts', "import '../node.ts';", 'no command and no wiring'],
  ['server/http/sql.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],

  ['server/findings/declared.ts', "selectOne('SELECT 1 FROM findings WHERE id = $id');", null],
  ['server/findings/dynamic.ts', 'all(database, `SELECT 1 FROM ${from} WHERE id = $id`, { id });', null],
  ['server/findings/prepares.ts', 'zip.prepare(ranges);', null],
  ['server/store/sqlite/engine/prepared.ts', "database.prepare('SELECT 1');", null],
  ['server/store/sqlite/statement.ts', 'statement<Row>(database, sql).get();', 'prepares statements'],
  ['server/store/sqlite/prepare.ts', 'this.#database.prepare<[], Row>(sql);', 'prepares statements'],
  ['server/store/spool.ts', "spool.prepare('SELECT 1');", 'prepares statements'],
  ['server/findings/inline.ts', "run(database, 'DELETE FROM findings');", 'declare the query'],
  [
    'server/findings/template.ts',
    'one<Row>(this.#read, `SELECT text\n  FROM findings WHERE id = $id`, { id });',
    'declare the query',
  ],
  ['server/findings/at.ts', 'selectOne(`SELECT 1 FROM findings WHERE id = @id`);', 'is ? or $name'],
  ['server/findings/colon.ts', "change('UPDATE findings SET text = :text');", 'is ? or $name'],

  ['server/cli.ts', "import './cli/main.ts';\nconsole.log(1);", null],
  [
    'server/cli/services.ts',
    "import '../peers/peers.ts';",
    'A command works on files and folders, or asks a node',
  ],
  ['server/cli/route.ts', "import '../http/app.ts';", 'A command works on files and folders, or asks a node'],
  ['server/print.ts', 'console.log(1);', 'Delete this console statement'],

  ['renderer/src/ok.ts', "import '../../shared/limits.ts';\nimport 'react';", null],
  ['renderer/src/server.ts', "import '../../server/config.ts';", 'renderer/ uses the server by HTTP'],
  ['renderer/src/electron.ts', "import '../../electron/guards.ts';", 'renderer/ uses the server by HTTP'],
  ['renderer/src/node.ts', "import 'node:path';", 'renderer/ runs in a browser'],
  ['renderer/src/bareNode.ts', "import 'fs/promises';", 'renderer/ runs in a browser'],
  ['renderer/src/window.ts', 'export const d = window.strongroomDesktop;', 'Only renderer/src/desktop.ts'],
  [
    'renderer/src/global.ts',
    'export const d = globalThis.strongroomDesktop;',
    'Only renderer/src/desktop.ts',
  ],
  ['renderer/src/desktop.ts', 'export const d = window.strongroomDesktop;', null],

  ['electron/ok.ts', "import '../server/node.ts';\nimport '../server/config.ts';\nimport 'electron';", null],
  ['electron/cli.ts', "import '../server/cli/main.ts';\nimport '../server/launch/build.ts';", null],
  [
    'electron/command.ts',
    "import '../server/cli/commands/serve.ts';",
    'electron/ opens a node or runs the command line',
  ],
  ['electron/near.ts', "import './guards.ts';\nimport '../shared/limits.ts';", null],
  [
    'electron/service.ts',
    "import '../server/archive/studies.ts';",
    'electron/ opens a node or runs the command line',
  ],
  ['electron/renderer.ts', "import '../renderer/src/main.tsx';", 'loads the renderer by URL'],
  ['electron/sql.ts', "import 'better-sqlite3';", 'Only server/store uses SQL'],

  ['shared/one.ts', "import type { Two } from './two.ts';\nexport type One = Two;", 'Dependency cycle'],
  ['shared/two.ts', "import type { One } from './one.ts';\nexport type Two = One | 1;", null],
];

type Finding = { filename: string; message: string; help?: string };
let folder: string;
let findings: { file: string; message: string }[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'strongroom-lint-'));
  copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  for (const [file, line] of cases) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${line}\n`);
  }
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const run = spawnSync(process.execPath, [oxlint, '--format=json'], { cwd: folder, encoding: 'utf8' });
  expect(run.status, run.stderr).toBe(1);
  const linted = (JSON.parse(run.stdout) as { diagnostics: Finding[] }).diagnostics.map(
    ({ filename, message, help = '' }) => ({ file: filename, message: `${message} ${help}` }),
  );
  findings = [...checkImports(folder), ...linted];
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every import and all SQL in this checkout obey the rules', () => {
  expect(checkImports(root)).toEqual([]);
});

test.each(cases)('%s: %s', (file, _line, why) => {
  const messages = findings.filter((finding) => finding.file === file).map(({ message }) => message);
  if (why === null) expect(messages).toEqual([]);
  else expect(messages.join('\n')).toContain(why);
});
