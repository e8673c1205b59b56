import { config } from 'zod/mini';
import { checkEvidenceData } from '../../shared/proof/evidence/verifyEvidence.ts';
import type { Claim } from '../../shared/proof/verdict.ts';
import { browserCrypto } from './browserCrypto.ts';
import { checkOwnPage, emptyPage } from './ownPage.ts';
import { renderReport } from './report.ts';

// The policy of the page forbids the functions that zod would make of its schemas.
config({ jitless: true });

/** Reads the evidence in the file, checks it, and shows the report. An error is shown in the page. */
function run(script: Element | null): void {
  const json = document.getElementById('evidence')?.textContent ?? '';
  const ofPage = checkOwnPage(document, script?.textContent ?? '', browserCrypto);
  const main = emptyPage(document, script, browserCrypto);
  try {
    const { claims, ...rest } = checkEvidenceData(json, browserCrypto);
    renderReport(main, { ...rest, claims: [...claims, ...ofPage] });
    document.getElementById('passage')?.scrollIntoView({ block: 'center' });
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const claim: Claim<'form'> = {
      id: 'form',
      name: 'This file can be read.',
      state: 'fails',
      detail: `It was altered or cut. ${detail}`,
    };
    renderReport(main, { claims: [claim] });
  }
}

const { currentScript } = document;
// What follows the script is in the document then too.
addEventListener('DOMContentLoaded', () => run(currentScript));
