import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { NodeConfig, SampleSwitch } from '../../server/config.ts';
import {
  beginSample,
  completeSample,
  giveUpSample,
  hasSample,
  removeSample,
  sampleFolder,
} from '../../server/moving/sampleFolder.ts';
import { openNode, type RunningNode } from '../../server/node.ts';
import { inNextTurn } from '../../server/runtime/background.ts';
import type { Pack, PackRecordInput } from '../../shared/archive/pack.ts';
import type { EventType } from '../../shared/collection/event.ts';
import { type BodyInputOf, pathOf, type ResponseOf } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName, type RouteTable } from '../../shared/routes.ts';
import {
  ALGAE,
  CASE,
  CLARITY,
  COMMENT,
  FERRY,
  GUIDELINES,
  OBSERVER,
  REPLICATION,
  REPLICATION_NOTE,
  type SamplePack,
  type SampleSource,
  SUBJECTS,
  warcOf,
} from './sampleContent.ts';

/** The archive that an app opens: the own one, or the sample beside it as long as there is one. */
interface OpenedPlace {
  folder: string;
  sample: SampleSwitch;
}

interface PlaceConfig {
  /** The folder of the person's own archive. */
  own: string;
  log?: NodeConfig['log'];
  /** Called when a sample that was given up cannot be removed. The next start tries again. */
  onLeftOver: (error: unknown) => void;
  /** Closes the node, and opens what `placeToOpen` says then. */
  reopen: (signInCode: string) => void;
}

/** Says which archive is opened. Removes what is left of a sample that was given up or not finished. */
export async function placeToOpen({ own, log, onLeftOver, reopen }: PlaceConfig): Promise<OpenedPlace> {
  const isOpen = hasSample(own);
  if (!isOpen) await removeSample(own).catch(onLeftOver);
  let changing: Promise<string> | undefined;
  const change = async () => {
    if (isOpen) await giveUpSample(own);
    else await makeSample(own, log);
    const code = randomBytes(32).toString('hex');
    // Closing waits for the response to this request.
    inNextTurn(() => reopen(code));
    return code;
  };
  const sample: SampleSwitch = {
    isOpen,
    change: () => {
      changing ??= change().catch((error: unknown) => {
        changing = undefined;
        throw error;
      });
      return changing;
    },
  };
  return { folder: isOpen ? sampleFolder(own) : own, sample };
}

/** Makes the sample beside an archive, with a node of its own that nobody else reaches. It needs no network. */
async function makeSample(own: string, log: NodeConfig['log']): Promise<void> {
  const folder = await beginSample(own);
  const idle = { collect: false, audit: false, copy: false, derive: false, prove: false, follow: false };
  try {
    const node = await openNode({
      dataFolder: folder,
      port: 0,
      ...idle,
      discovery: { addresses: [] },
      ...(log && { log }),
    });
    try {
      await fill(await ownerOf(node));
    } finally {
      await node.close();
    }
    await completeSample(own);
  } catch (error) {
    await removeSample(own);
    throw error;
  }
}

/** What is sent to the node of the sample. */
interface Owner {
  call: <Name extends RouteName>(
    name: Name,
    options?: {
      params?: Record<string, string>;
      query?: Record<string, string>;
      body?: BodyInputOf<RouteTable[Name]>;
    },
  ) => Promise<ResponseOf<RouteTable[Name]>>;
  /** Sends a body that is not JSON. */
  send: (
    method: string,
    path: string,
    body: NonNullable<RequestInit['body']>,
    headers?: Record<string, string>,
  ) => Promise<unknown>;
}

async function ownerOf({ url, tokenFile }: RunningNode): Promise<Owner> {
  const token = (await readFile(tokenFile, 'utf8')).trim();
  const send = async (
    method: string,
    path: string,
    body?: RequestInit['body'],
    headers: Record<string, string> = {},
  ): Promise<unknown> => {
    const init = { method, headers: { ...headers, Authorization: `Bearer ${token}` }, ...(body && { body }) };
    const response = await fetch(new URL(path, url), init);
    const answer: unknown = await response.json();
    if (!response.ok)
      throw new Error(`The sample archive could not be made: ${(answer as { detail?: string }).detail}`);
    return answer;
  };
  return {
    send,
    call: async (name, { params, query = {}, body } = {}) => {
      const { method, path } = ROUTE_SPECS[name];
      const search = new URLSearchParams(query).toString();
      const address = pathOf(path, params) + (search && `?${search}`);
      const json = body === undefined ? undefined : JSON.stringify(body);
      return (await send(method, address, json, { 'Content-Type': 'application/json' })) as never;
    },
  };
}

async function fill(owner: Owner): Promise<void> {
  // Nobody is asked whether a sample gets timestamps.
  await owner.call('changeSettings', { body: { timestamps_answered: true } });
  for (const body of SUBJECTS) await owner.call('createNode', { body });
  const clarity = await publish(owner, CLARITY);
  const replication = await publish(owner, REPLICATION, {
    replicates: { pack: clarity.id, verdict: 'reproduced', note: REPLICATION_NOTE },
  });
  await publish(owner, ALGAE);
  await owner.call('addComment', { params: { id: clarity.id }, body: COMMENT });
  await owner.send(
    'POST',
    `/manage/captures?observer=${encodeURIComponent(OBSERVER)}`,
    warcOf([GUIDELINES, FERRY]),
    {
      'Content-Type': 'application/warc',
    },
  );
  const [, second = ''] = await eventsOf(owner, FERRY, 'changed');
  const [, raised = ''] = await eventsOf(owner, GUIDELINES, 'changed');
  await owner.call('createCase', {
    body: {
      title: CASE.title,
      description: CASE.description,
      items: [
        { kind: 'event', id: second, note: CASE.notes.second },
        { kind: 'pack', id: clarity.id, note: CASE.notes.clarity },
        { kind: 'pack', id: replication.id, note: CASE.notes.replication },
        { kind: 'event', id: raised, note: CASE.notes.guideline },
      ],
    },
  });
}

async function publish(
  owner: Owner,
  { record, files }: SamplePack,
  more: Pick<PackRecordInput, 'replicates'> = {},
): Promise<Pack> {
  const form = new FormData();
  form.set('record', JSON.stringify({ ...record, ...more }));
  for (const { path, mediaType, text } of files)
    form.append('files', new File([text], path, { type: mediaType }), path);
  return (await owner.send('POST', '/api/packs', form)) as Pack;
}

/** Names a source, and returns the ids of its events of a type, the newest first. */
async function eventsOf(
  owner: Owner,
  { url, name, agency, tags }: SampleSource,
  type: EventType,
): Promise<string[]> {
  const { items } = await owner.call('listSources', { query: { limit: '10' } });
  const source = items.find((each) => each.url === url);
  if (!source) throw new Error(`The sample archive could not be made: ${url} is missing.`);
  await owner.call('changeSource', { params: { id: source.id }, body: { name, agency, tags } });
  const events = await owner.call('listEvents', { query: { source: source.id, event_type: type } });
  return events.items.map(({ id }) => String(id));
}
