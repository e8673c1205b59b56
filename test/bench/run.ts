import { alerts } from './alerts.bench.ts';
import { runBenches } from './bench.ts';
import { blobs } from './blobs.bench.ts';
import { captures } from './captures.bench.ts';
import { collector } from './collector.bench.ts';
import { copies } from './copies.bench.ts';
import { dump } from './dump.bench.ts';
import { findings } from './findings.bench.ts';
import { interfaceBench } from './interface.bench.ts';
import { ledger } from './ledger.bench.ts';
import { mirror } from './mirror.bench.ts';
import { packs } from './packs.bench.ts';
import { pages } from './pages.bench.ts';
import { sets } from './sets.bench.ts';
import { start } from './start.bench.ts';
import { timeline } from './timeline.bench.ts';
import { upload } from './upload.bench.ts';
import { verify } from './verify.bench.ts';
import { withheld } from './withheld.bench.ts';

const BENCHES = [
  upload,
  blobs,
  ledger,
  dump,
  packs,
  sets,
  pages,
  timeline,
  collector,
  alerts,
  captures,
  findings,
  copies,
  mirror,
  verify,
  withheld,
  start,
  interfaceBench,
];

/** `npm run bench` runs all benches; `npm run bench -- ledger` runs the named ones. */
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(
    `No such bench: ${unknown.join(', ')}. There are: ${BENCHES.map(({ name }) => name).join(', ')}.`,
  );
  process.exitCode = 2;
} else {
  await runBenches(BENCHES.filter(({ name }) => wanted.length === 0 || wanted.includes(name)));
}
