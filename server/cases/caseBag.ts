import { createHash, hash } from 'node:crypto';
import type { Finding } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { caseSealText, type SealedFiles } from '../../shared/proof/caseSeal.ts';
import { type EvidenceParts, evidenceHtml } from '../../shared/proof/evidence/evidencePage.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import {
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  infoText,
  MANIFEST_FILE,
  manifestLine,
  onOneLine,
  SEAL_FILE,
  TAG_MANIFEST_FILE,
} from '../archive/packs/bag/tagFiles.ts';
import { packFileOf } from '../archive/packs/file/writePackFile.ts';
import { digestsOfPack, requirePack } from '../archive/packs/readPack.ts';
import { type EvidenceServices, eventEvidence, packEvidence } from '../evidence/collectEvidence.ts';

import { type AnnotationAddresses, annotationCollection } from '../findings/annotations.ts';
import { recordOfFinding } from '../findings/findingRows.ts';
import { requireReadableQuote } from '../findings/findings.ts';
import { sealedEntryOf } from '../findings/sealed.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { entryText } from '../ledger/entry.ts';
import { proveInclusionAsFile } from '../ledger/prove.ts';
import { cosignedSizes, earliestTimestamps, entryAt } from '../store/sqlite/node/ledger.ts';
import { guarded, type Reader, requireAllReadable, whileReadable } from '../withholding/withholding.ts';
import { type StreamedFile, streamedZip } from '../zip/writeZip.ts';
import { CASE_PATHS, type CaseContents, caseContents, caseIndex, readmeText } from './caseContents.ts';
import { readCase } from './cases.ts';

export interface BagServices extends EvidenceServices {
  /** The script and style of evidence files. */
  evidenceParts: EvidenceParts;
  addresses: AnnotationAddresses;
  /** Who gets the bag. */
  reader: Reader;
}

/**
 * Yields a case with its evidence as one bag in a ZIP. One file is in memory at a time.
 *
 * @throws Problem `not_found`; the errors of `Checkpoints.sign`
 */
export async function* caseBag(services: BagServices, id: string): AsyncGenerator<Uint8Array> {
  const { store, addresses, checkpoints, reader } = services;
  let quoted: string[] = [];
  let findings: readonly Finding[] = [];
  const stillReadable = whileReadable(store.read, () => {
    requireAllReadable(store.read, quoted, reader);
    for (const finding of findings) requireReadableQuote(store.read, finding, reader);
  });
  const contents = await caseContents(store, readCase(store, id), reader);
  quoted = digestsOf(store, contents);
  ({ findings } = contents);
  const { title } = contents.case;
  const bag = zippedBag(payloadOf(services, contents), {
    folder: `strongroom-case-${id}`,
    modified: new Date(store.instant()),
    seal: (digests) => checkpoints.signNote(caseSealText(checkpoints.key.verifierKey, digests)),
    info: [
      ['External-Identifier', id],
      ['External-Description', onOneLine(title)],
      ['Source-Organization', addresses.nodeName],
      ['Bagging-Date', store.instant().slice(0, 10)],
    ],
  });
  yield* guarded(bag, stillReadable);
}

/** Returns the digests of everything in a bag that can be withheld, but for what its findings quote. */
function digestsOf({ read }: BagServices['store'], { objects, packs }: CaseContents): string[] {
  return [
    ...objects.map(({ sha256 }) => sha256),
    ...packs.flatMap(({ id }) => digestsOfPack(read, requirePack(read, id))),
  ];
}

function payloadOf(services: BagServices, contents: CaseContents): PayloadFile[] {
  const { store, addresses, evidenceParts, reader } = services;
  const { events, packs, objects, findings } = contents;
  const text = (
    path: string,
    read: () => AsyncIterable<string | Buffer> | Iterable<string | Buffer>,
  ): PayloadFile => ({
    path,
    isText: true,
    read: async function* () {
      for await (const piece of read()) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
    },
  });
  const made = (path: string, make: () => string | Promise<string>) =>
    text(path, async function* () {
      yield await make();
    });
  /** Of a finding that was sealed: the salt, the entry that sealed it, and what shows when, as in an evidence file. */
  const sealedFiles = ({ id, sealed }: Finding): PayloadFile[] => {
    const entry = sealed && sealedEntryOf(store.read, id);
    if (!sealed?.salt || entry === undefined) return [];
    const { salt } = sealed;
    const paths = CASE_PATHS.sealed(id);
    const proof = (path: string, size?: number) =>
      made(path, () => proveInclusionAsFile(store, services.checkpoints, entry, size));
    const origin = services.checkpoints.key.name;
    const [, cosigned] = cosignedSizes(store.read, entry, origin);
    // After a restore the node has another name, so it cannot sign what was stamped before.
    const stamped = earliestTimestamps(store.read, { seq: entry }).filter(({ text }) =>
      text.startsWith(`${origin}\n`),
    );
    return [
      made(paths.salt, () => salt),
      made(paths.entry, () => entryOf(store, entry)),
      proof(paths.proof),
      ...(cosigned === undefined ? [] : [proof(paths.cosigned, cosigned)]),
      ...stamped.flatMap(({ size, text: checkpoint, reply }, index) => {
        const timestamp = paths.timestamp(index + 1);
        return [
          proof(timestamp.proof, size),
          made(timestamp.text, () => checkpoint),
          text(timestamp.reply, () => [reply]),
        ];
      }),
    ];
  };
  return [
    made(CASE_PATHS.index, () => caseIndex(contents, addresses.nodeName)),
    made(CASE_PATHS.readme, () => readmeText(contents.case)),
    made(CASE_PATHS.record, () => `${JSON.stringify(contents.case, null, 2)}\n`),
    text(CASE_PATHS.annotations, () => annotationCollection(findings, findings.length, addresses)),
    ...findings.flatMap((finding) => {
      const { ledger_entry, id } = finding;
      const paths = CASE_PATHS.finding(id);
      return [
        made(paths.record, () => canonicalText(recordOfFinding(finding))),
        made(paths.entry, () => entryOf(store, ledger_entry)),
        made(paths.proof, () => proveInclusionAsFile(store, services.checkpoints, ledger_entry)),
        ...sealedFiles(finding),
      ];
    }),
    ...events.map(({ id }) =>
      text(CASE_PATHS.evidence(`event-${id}`), async function* () {
        yield* evidenceHtml(await eventEvidence(services, String(id), reader), evidenceParts, nodeCrypto);
      }),
    ),
    ...packs.flatMap(({ id, crcs }) => [
      text(CASE_PATHS.evidence(id), async function* () {
        yield* evidenceHtml(await packEvidence(services, id, reader), evidenceParts, nodeCrypto);
      }),
      { path: CASE_PATHS.pack(id), read: () => packBytes(services, id, crcs) },
    ]),
    ...objects.map(({ sha256, bytes }) => ({
      path: CASE_PATHS.object(sha256),
      bytes,
      read: () => intactChunks(store.blobs.read(sha256), sha256),
    })),
  ];
}

function entryOf({ read }: BagServices['store'], seq: number): string {
  const entry = entryAt(read, seq);
  if (!entry) throw new Error(`The ledger has no entry ${seq}.`);
  return entryText(entry);
}

function packBytes({ store }: BagServices, id: string, crcs: Uint32Array): AsyncIterable<Uint8Array> {
  const output = packFileOf(store, id);
  return output.zip(crcs).read({ start: 0, end: output.bytes - 1 });
}

/** Yields bytes that were checked before, and checks them again. @throws Problem `blob_damaged` */
async function* intactChunks(chunks: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== sha256) throw new Problem('blob_damaged', `The object ${sha256} is damaged.`);
}

/** A file of the payload. It is read when its turn comes. */
export interface PayloadFile {
  /** The path below `data/`. */
  path: string;
  read: () => AsyncIterable<Uint8Array>;
  /** Text is compressed; files that are compressed already are not. */
  isText?: boolean;
  /** The size, if the file may have gigabytes. */
  bytes?: number;
}

interface BagDescription {
  folder: string;
  info: readonly (readonly [label: string, value: string])[];
  modified: Date;
  /** Signs the manifest and the description; null if there is no key. */
  seal?: (digests: SealedFiles) => string | null;
}

/**
 * Yields a ZIP with one BagIt 1.0 bag (RFC 8493). The payload is hashed while it is sent, so the manifest follows it.
 * Memory does not grow with the size of the files.
 */
export async function* zippedBag(
  files: readonly PayloadFile[],
  { folder, info, modified, seal = () => null }: BagDescription,
): AsyncGenerator<Uint8Array> {
  const manifest: string[] = [];
  const tags = new Map<string, string>();
  let payload = 0;
  const file = (name: string, read: StreamedFile['read'], isCompressed: boolean, bytes = 0) => ({
    name: `${folder}/${name}`,
    bytes,
    isCompressed,
    read,
  });
  const tag = (name: string, text: string) => {
    tags.set(name, text);
    return file(
      name,
      async function* () {
        yield Buffer.from(text);
      },
      true,
    );
  };
  const bag = function* () {
    yield tag(DECLARATION_FILE, DECLARATION);
    for (const { path, read, isText = false, bytes } of files) {
      const hashed = async function* () {
        const sha256 = createHash('sha256');
        for await (const chunk of read()) {
          sha256.update(chunk);
          payload += chunk.length;
          yield chunk;
        }
        manifest.push(manifestLine(sha256.digest('hex'), `data/${path}`));
      };
      yield file(`data/${path}`, hashed, isText, bytes);
    }
    yield tag(MANIFEST_FILE, manifest.join(''));
    yield tag(INFO_FILE, infoText([...info, ['Payload-Oxum', `${payload}.${files.length}`]]));
    const sha256Of = (name: string) => hash('sha256', tags.get(name) ?? '');
    const note = seal({ info: sha256Of(INFO_FILE), manifest: sha256Of(MANIFEST_FILE) });
    if (note !== null) yield tag(SEAL_FILE, note);
    yield tag(
      TAG_MANIFEST_FILE,
      [...tags].map(([name, text]) => manifestLine(hash('sha256', text), name)).join(''),
    );
  };
  yield* streamedZip(bag(), { modified });
}
