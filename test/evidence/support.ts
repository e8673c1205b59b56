import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../renderer/inlineScripts.ts';
import type { Evidence } from '../../shared/proof/evidence.ts';
import { dataIn, type EvidenceParts } from '../../shared/proof/evidencePage.ts';
import { temporaryFolder } from '../support/node.ts';

/** Builds the script and the style of evidence files, as the build of the interface does. */
export async function buildEvidenceParts(): Promise<EvidenceParts> {
  const [script, style] = await Promise.all([buildEvidenceScript(), readEvidenceStyle()]);
  return { script, style };
}

/** Writes them into a folder for a node, and returns it. */
export async function writeEvidenceParts({ script, style }: EvidenceParts): Promise<string> {
  const rendererFolder = await temporaryFolder();
  await mkdir(join(rendererFolder, 'evidence'));
  await writeFile(join(rendererFolder, EVIDENCE_SCRIPT), script);
  await writeFile(join(rendererFolder, EVIDENCE_STYLE), style);
  return rendererFolder;
}

/** Returns the data in an evidence file. */
export function evidenceIn(html: string): Evidence {
  return JSON.parse(dataIn(html) ?? '') as Evidence;
}
