import { afterAll, beforeAll, expect, test } from 'vitest';
import { knownPages } from '../../server/evidence/evidenceParts.ts';
import { dataIn } from '../../shared/proof/evidence/evidencePage.ts';
import { buildEvidenceParts, writeEvidenceParts } from '../evidence/support.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTimestampAuthorities } from '../support/network/timestampAuthority.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { copyFormat } from './copy.ts';
import { evidenceDataFormat, evidencePageFormat } from './evidence.ts';
import { type ForgedFormat, sha256 } from './forgery.ts';
import {
  caseBagFormat,
  checkpointFormat,
  dumpFormat,
  exportFormat,
  packFormat,
  proofFormat,
  timestampFormat,
  waczFormat,
} from './formats.ts';
import { genuineArchive } from './genuine.ts';
import { provenanceFormat, tilesFormat } from './mirror.ts';
import { onPage } from './onPage.ts';

/*
 * FORGERIES says how many are made, SEED which. A forgery that is believed is printed with what makes it again:
 * SEED=1 FORMAT=copy ONLY=17 npm run trials -- test/forger
 */
const FORGERIES = Number(process.env['FORGERIES'] ?? 100_000);
const SEED = Number(process.env['SEED'] ?? 20_261_128);
const { FORMAT, ONLY } = process.env;
const MAX_NAMED = 40;
/** One of so many is also given to the command. */
const COMMAND_EVERY = 100;

/** One archive at two times: each part is genuine, and what is mixed of both is not. */
function ofTwoTimes<Input>(format: ForgedFormat<Input>): ForgedFormat<Input> {
  return { ...format, name: `${format.name} of two times`, share: 500 };
}

const digestOf = (provenance: string) =>
  (JSON.parse(provenance) as { entry: { digest: string } }).entry.digest;
const dataOf = (html: string) => dataIn(html) ?? '';

let formats: ForgedFormat[] = [];
let rendererFolder = '';

beforeAll(async () => {
  const parts = await buildEvidenceParts();
  rendererFolder = await writeEvidenceParts(parts);
  const [one, other] = [
    await genuineArchive('here', rendererFolder),
    await genuineArchive('there', rendererFolder),
  ];
  const folder = await temporaryFolder();
  const pages = await knownPages(rendererFolder);
  const packs = packFormat(one.packs, folder);
  const caseBags = caseBagFormat([one.caseBag, other.caseBag], folder, pages);
  formats = [
    evidenceDataFormat('evidence of a pack', [dataOf(one.evidence[0]), dataOf(one.evidence[1])], 12_000),
    evidenceDataFormat('evidence of an event', [dataOf(one.evidence[2]), dataOf(other.evidence[2])], 7_000),
    evidencePageFormat([one.evidence[0], one.evidence[1]], pages, folder),
    checkpointFormat(one.checkpoints, one.key, folder),
    proofFormat(one.proofs, one.key, folder),
    timestampFormat([one.stamped, other.stamped], folder),
    dumpFormat([one.dump, other.dump], folder),
    packs,
    onPage(packs, pages),
    exportFormat([one.exported, other.exported], folder),
    caseBags,
    onPage(caseBags, pages),
    waczFormat([one.wacz, other.wacz], folder),
    tilesFormat([one.copy, other.copy], one.key),
    provenanceFormat(one.provenance, digestOf(one.provenance[0])),
    copyFormat([one.copy, other.copy], one.key),
    ofTwoTimes(dumpFormat([one.dump, one.before.dump], folder)),
    ofTwoTimes(exportFormat([one.exported, one.before.exported], folder)),
    ofTwoTimes(copyFormat([one.copy, one.before.copy], one.key)),
  ] as unknown as ForgedFormat[];
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await closeTimestampAuthorities();
});

interface Tried {
  format: string;
  forgeries: number;
  /** Of those, the ones that say what a genuine file says. */
  harmless: number;
  believed: number;
  /** Of those that say something else, how many were verified by the command too. */
  by_command: number;
  /** Milliseconds of the processor. */
  cpu_ms: number;
}

// A slow or busy machine takes longer than other tests may.
test('no forgery is believed', { timeout: 900_000 }, async () => {
  const tried: Tried[] = [];
  const believed: string[] = [];
  for (const format of formats.filter(({ name }) => FORMAT === undefined || name === FORMAT)) {
    const row: Tried = {
      format: format.name,
      forgeries: 0,
      harmless: 0,
      believed: 0,
      by_command: 0,
      cpu_ms: 0,
    };
    const begun = process.cpuUsage();
    const contents = new Set(format.genuine.map((input) => format.content(input)));
    expect(await format.verdict(format.genuine[0]), format.name).toBe('intact');
    for (let number = 0; number < Math.ceil((format.share / 100_000) * FORGERIES); number += 1) {
      if (ONLY !== undefined && Number(ONLY) !== number) continue;
      const random = seededRandom(
        Number.parseInt(sha256(`${SEED} ${format.name} ${number}`).slice(0, 8), 16),
      );
      const [genuine, other] = format.genuine;
      const { operation, pointer, input } = format.forge(genuine, other, random);
      row.forgeries += 1;
      const again = `SEED=${SEED} FORMAT='${format.name}' ONLY=${number} FORGERIES=${FORGERIES} npm run trials -- test/forger`;
      const content = format.content(input);
      if (content !== undefined && contents.has(content)) {
        row.harmless += 1;
        continue;
      }
      const verdict = await format.verdict(input);
      if (format.command && number % COMMAND_EVERY === 0) {
        const { code } = await runHere(['verify', ...(await format.command(input)), '--json'], undefined, {
          rendererFolder,
        });
        row.by_command += 1;
        expect([0, 1, 2, 3], again).toContain(code);
        expect(code === 0, again).toBe(verdict === 'intact');
      }
      if (verdict !== 'intact') continue;
      row.believed += 1;
      believed.push(`${format.name}: ${operation} at ${pointer}\n  ${again}`);
    }
    const { user, system } = process.cpuUsage(begun);
    row.cpu_ms = Math.round((user + system) / 1_000);
    tried.push(row);
  }
  console.table(tried);
  for (const each of believed.slice(0, MAX_NAMED)) console.log(each);
  expect(believed).toEqual([]);
});
