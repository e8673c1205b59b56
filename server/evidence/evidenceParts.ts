import { createHash, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { type Evidence, sealText } from '../../shared/proof/evidence/evidence.ts';
import { type EvidenceParts, jsonOfFiles, type KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { WRITTEN_PAGES } from '../../shared/proof/evidence/writtenPages.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { isMissing } from '../store/files.ts';

/** @throws Problem `interface_missing` */
export async function readEvidenceParts(rendererFolder: string): Promise<EvidenceParts> {
  try {
    const [script, style] = await Promise.all(
      ['check.js', 'style.css'].map((name) => readFile(join(rendererFolder, 'evidence', name), 'utf8')),
    );
    return { script: script ?? '', style: style ?? '' };
  } catch (error) {
    if (isMissing(error))
      throw new Problem('interface_missing', 'Build the interface with “npm run build”, and ask again.', {
        cause: error,
      });
    throw error;
  }
}

/** Returns the pages of evidence files that this program knows: those of earlier versions, and the one that it writes itself. */
export async function knownPages(rendererFolder: string): Promise<KnownPage[]> {
  try {
    const { script, style } = await readEvidenceParts(rendererFolder);
    const own = { version: 'this version', script: hash('sha256', script), style: hash('sha256', style) };
    return [own, ...WRITTEN_PAGES];
  } catch (error) {
    if (error instanceof Problem && error.code === 'interface_missing') return [...WRITTEN_PAGES];
    throw error;
  }
}

/** Signs the digest of each part, so that a change of any part is noticed, also where no proof covers it. */
export async function signEvidence(
  evidence: Omit<Evidence, 'seal'>,
  checkpoints: Checkpoints,
): Promise<Evidence> {
  const hash = createHash('sha256');
  for (const piece of jsonOfFiles(evidence.files, canonicalText)) {
    hash.update(piece);
    await yieldToEventLoop();
  }
  const text = sealText(evidence, nodeCrypto, { files: hash.digest('hex') });
  const signature = checkpoints.signStatement(text);
  return { ...evidence, seal: signature === null ? null : { text, signature } };
}
