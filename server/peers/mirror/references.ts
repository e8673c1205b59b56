import { z } from 'zod';
import {
  type ArchiveNode,
  newNodeSchema,
  newStudySchema,
  nodeSchema,
  studySchema,
} from '../../../shared/archive/study.ts';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { pathPrefixes } from '../../archive/packs/packRows.ts';
import { nodeDigest, statusDigest, studyDigest } from '../../archive/recordedSubjects.ts';
import { createStudy, createTreeNode, readStudy, setStudyStatus } from '../../archive/studies.ts';
import { studyById, treeNodeAt } from '../../store/sqlite/archive/studies.ts';
import { insertPeerStudy, isStudyFrom } from '../../store/sqlite/node/peerOrigins.ts';
import { listOf, PeerError } from '../peerClient.ts';
import { RefusedRecordError } from './mirrorTally.ts';
import type { Mirroring } from './remoteLog.ts';

const MAX_TREE_BYTES = 64 * 1_048_576;
const MAX_STUDY_BYTES = 4 * 1_048_576;
/** Entries of the same millisecond among which that of a status is looked for. */
const MAX_SAME_INSTANT = 512;

const studyRecord = studySchema.pick({
  id: true,
  title: true,
  question: true,
  description: true,
  node: true,
  status_history: true,
  created_at: true,
  ledger_entry: true,
});
/** The nodes of a tree are checked one at a time, for the reason of `listOf`. */
const listedTree = z.object({ nodes: z.array(z.unknown()) });
const listedNode = nodeSchema.extend({ counts: z.unknown(), children: z.array(z.unknown()) });

/** What is read of a study before its record is checked. */
const listedStudy = z.looseObject({
  ...studyRecord.shape,
  status_history: listOf(studyRecord.shape.status_history.element),
});
type StudyRecord = z.output<typeof studyRecord>;

/** Takes the subjects and studies that packs need, each proven like a pack. What is here already stays as it is. */
export class References {
  readonly #mirroring: Mirroring;
  readonly #known = new Map<string, Promise<void>>();
  #tree: Promise<Map<string, ArchiveNode>> | undefined;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
  }

  /** @throws RefusedRecordError; PeerError */
  async needNode(path: string): Promise<void> {
    for (const each of pathPrefixes(path)) await this.#once(`node ${each}`, () => this.#takeNode(each));
  }

  /** @throws RefusedRecordError; PeerError */
  needStudy(id: string): Promise<void> {
    return this.#once(`study ${id}`, () => this.#takeStudy(id));
  }

  #once(key: string, take: () => Promise<void>): Promise<void> {
    let taking = this.#known.get(key);
    if (!taking) {
      this.#known.set(key, (taking = take()));
      taking.catch(() => undefined);
    }
    return taking;
  }

  async #takeNode(path: string): Promise<void> {
    const { store } = this.#mirroring;
    if (treeNodeAt(store.read, path)) return;
    this.#tree ??= this.#readTree();
    const node = (await this.#tree).get(path);
    const checked = newNodeSchema.safeParse({ path, title: node?.title, description: node?.description });
    if (!node || !checked.success) throw new RefusedRecordError('missing_reference');
    await this.#prove(node.ledger_entry, { type: 'node.created', subject: path, digest: nodeDigest(node) });
    await createTreeNode(store, checked.data).catch((error: unknown) => {
      // Somebody created it meanwhile.
      if (!(error instanceof Problem) || error.code !== 'node_exists') throw error;
    });
  }

  async #readTree(): Promise<Map<string, ArchiveNode>> {
    const { nodes } = await this.#mirroring.client.json('/api/tree', listedTree, MAX_TREE_BYTES);
    const byPath = new Map<string, ArchiveNode>();
    const queue = nodes;
    while (queue.length > 0) {
      const listed = listedNode.safeParse(queue.pop());
      if (!listed.success) throw new PeerError('failing', 'The peer sent an invalid tree of subjects.');
      const { counts: _, children, ...node } = listed.data;
      byPath.set(node.path, node);
      for (const child of children) queue.push(child);
    }
    return byPath;
  }

  async #takeStudy(id: string): Promise<void> {
    const { store, client, origin } = this.#mirroring;
    // What this archive has otherwise stays as it is.
    if (studyById(store.read, id) && !isStudyFrom(store.read, { id, origin })) return;
    const study = await client.json(`/api/studies/${id}`, listedStudy, MAX_STUDY_BYTES);
    const { title, question, description, node, created_at, status_history } = study;
    const [first, ...steps] = status_history;
    const checked = newStudySchema.safeParse({ title, question, description, node, status: first?.status });
    if (study.id !== id || !checked.success) throw new RefusedRecordError('wrong_record');
    const recorded = { id, ...checked.data, created_at };
    await this.#prove(study.ledger_entry, {
      type: 'study.created',
      subject: id,
      digest: studyDigest(recorded),
    });
    for (const step of steps) await this.#proveStatus(id, step);
    if (!studyById(store.read, id)) {
      if (node !== null) await this.needNode(node);
      await createStudy(store, checked.data, id, (database) => insertPeerStudy(database, { id, origin }));
    }
    const held = readStudy(store, id).status_history;
    // A study that was given another status here is not changed.
    const isPrefix = held.every(({ status, note }, index) => {
      const step = status_history[index];
      return step?.status === status && step.note === note;
    });
    if (!isPrefix) return;
    for (const { status, note } of status_history.slice(held.length))
      await setStudyStatus(store, id, { status, note });
  }

  async #prove(seq: number, expected: Pick<LedgerEntry, 'type' | 'subject' | 'digest'>): Promise<void> {
    const { entry } = await this.#mirroring.log.entry(seq);
    if (!isEntryOf(entry, expected)) throw new RefusedRecordError('wrong_record');
  }

  /** A status does not name its ledger entry. The entry has the same time. */
  async #proveStatus(study: string, step: StudyRecord['status_history'][number]): Promise<void> {
    const { log } = this.#mirroring;
    const expected = {
      type: 'study.status' as const,
      subject: study,
      digest: statusDigest({ study, ...step } as Parameters<typeof statusDigest>[0]),
    };
    const first = await log.firstSince(step.at);
    for (let seq = first; seq <= log.size && seq < first + MAX_SAME_INSTANT; seq += 1) {
      const { entry } = await log.entry(seq);
      if (isEntryOf(entry, expected)) return;
      if (entry.at > step.at) break;
    }
    throw new RefusedRecordError('wrong_record');
  }
}

function isEntryOf(
  { type, subject, digest }: LedgerEntry,
  expected: Pick<LedgerEntry, 'type' | 'subject' | 'digest'>,
): boolean {
  return type === expected.type && subject === expected.subject && digest === expected.digest;
}
