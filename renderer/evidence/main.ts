import { checkEvidence } from '../../shared/proof/checkEvidence.ts';
import { type Claim, EVIDENCE_FORMATS, type Evidence } from '../../shared/proof/evidence.ts';
import { checkSet } from '../../shared/proof/evidenceFiles.ts';
import { browserCrypto } from './browserCrypto.ts';
import { renderReport } from './report.ts';

/** Reads the evidence in the file, checks it, and shows the report. An error is shown in the page. */
function run(): void {
  const main = document.querySelector('main');
  if (!main) return;
  try {
    const evidence = JSON.parse(document.getElementById('evidence')?.textContent ?? '') as Evidence;
    if (!EVIDENCE_FORMATS.includes(evidence.format)) throw new Error('This page does not know its format.');
    const set = checkSet(evidence, browserCrypto);
    renderReport(main, evidence, checkEvidence(evidence, browserCrypto, set), set.set);
    document.getElementById('passage')?.scrollIntoView({ block: 'center' });
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const claim: Claim = {
      verdict: 'fails',
      claim: 'This file can be read.',
      detail: `It was altered or cut. ${detail}`,
    };
    renderReport(main, undefined, [claim]);
  }
}

run();
