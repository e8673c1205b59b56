import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../renderer/inlineScripts.ts';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { dataIn, type EvidenceParts } from '../../shared/proof/evidence/evidencePage.ts';
import { checkEvidenceData } from '../../shared/proof/evidence/verifyEvidence.ts';
import { decide, type Verdict } from '../../shared/proof/verdict.ts';
import { packForm, sampleRecord } from '../support/archive/packs.ts';
import { type TestNode, temporaryFolder } from '../support/node.ts';

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

/** Adds a pack with a hostile title, and returns its id. */
export async function addPack(
  node: TestNode,
  files: Record<string, string | Uint8Array<ArrayBuffer>>,
): Promise<string> {
  const body = packForm(sampleRecord({ title: '</script><img src=x onerror=alert(1)>' }), files);
  const response = await node.fetchAsOwner('/api/packs', { method: 'POST', body });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** Returns the data in the evidence file of a pack. */
export async function evidenceOf(node: TestNode, pack: string): Promise<Evidence> {
  return evidenceIn(await (await node.fetch(`/api/packs/${pack}/evidence`)).text());
}

/** Each place in a value: a member or an element. */
function* placesIn(
  value: unknown,
  place: readonly (string | number)[] = [],
): Generator<readonly (string | number)[]> {
  if (place.length > 0) yield place;
  if (typeof value !== 'object' || value === null) return;
  const names = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  for (const name of names)
    yield* placesIn((value as Record<string | number, unknown>)[name], [...place, name]);
}

function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value === 'object' && value !== null) return {};
  return typeof value === 'string' ? '' : 0;
}

/** Returns a copy with another value at a place; `undefined` removes it. */
function withValue(value: unknown, [name, ...rest]: readonly (string | number)[], put: unknown): unknown {
  const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  const members = copy as Record<string | number, unknown>;
  if (name === undefined) return put;
  if (rest.length > 0) members[name] = withValue(members[name], rest, put);
  else if (put !== undefined) members[name] = put;
  else if (Array.isArray(copy)) copy.splice(Number(name), 1);
  else delete members[name];
  return copy;
}

function valueAt(value: unknown, place: readonly (string | number)[]): unknown {
  return place.reduce<unknown>((at, name) => Object(at)[name] as unknown, value);
}

function verdictOf(evidence: unknown): Verdict {
  return decide('evidence', checkEvidenceData(JSON.stringify(evidence), nodeCrypto).claims).verdict;
}

/**
 * Requires that genuine evidence is intact, and that it is not with any part removed, null, empty, or taken from another
 * genuine file.
 */
export function expectNoForgeryIntact(genuine: Evidence, others: readonly Evidence[] = []): void {
  expect(verdictOf(genuine)).toBe('intact');
  const text = JSON.stringify(genuine);
  for (const place of placesIn(genuine)) {
    const own = valueAt(genuine, place);
    const forged: unknown[] = [
      undefined,
      null,
      emptied(own),
      ...others.map((other) => valueAt(other, place)),
    ];
    for (const value of forged) {
      const forgery = withValue(genuine, place, value);
      if (JSON.stringify(forgery) !== text)
        expect(verdictOf(forgery), `/${place.join('/')} as ${JSON.stringify(value)?.slice(0, 60)}`).not.toBe(
          'intact',
        );
    }
  }
}
