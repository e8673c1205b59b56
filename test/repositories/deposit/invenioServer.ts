import { createHash } from 'node:crypto';
import { type Answer, notFound, type Received, RepositoryServer } from './repositoryServer.ts';

interface StoredFile {
  bytes: Buffer | undefined;
  isComplete: boolean;
}

interface StoredRecord {
  id: string;
  metadata: { title: string; identifiers?: { identifier: string; scheme: string }[] } & Record<
    string,
    unknown
  >;
  doi: string | undefined;
  isPublished: boolean;
  community: string | undefined;
  isInReview: boolean;
  files: Map<string, StoredFile>;
  /** How many searches do not find it yet. */
  unindexed: number;
}

/**
 * A repository with the interface of InvenioRDM that its reference documents: drafts, files in three steps, reserved DOIs,
 * publication, community reviews, and a search whose index is behind.
 */
export class InvenioServer extends RepositoryServer {
  readonly records = new Map<string, StoredRecord>();
  readonly publications: string[] = [];
  /** The community that exists, by its address name and id. */
  community = { id: '8f2c1c60-8c1f-4c0e-a7cf-000000000001', slug: 'sea-level' };
  /** The right to publish. */
  mayPublish = true;
  /** How many searches do not find a new draft. */
  indexLag = 0;
  /** What follows the address of a page. */
  pageQuery = '';
  /** Changes the bytes of a file that was sent. */
  alter: (key: string, bytes: Buffer) => Buffer = (_key, bytes) => bytes;
  #next = 1;

  protected tokenOf({ authorization }: Received['headers']): string | undefined {
    return /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
  }

  protected readonly routes = [
    ['create', 'POST', /^\/api\/records$/, (received: Received) => this.#create(received)],
    ['search', 'GET', /^\/api\/user\/records$/, (received: Received) => this.#search(received)],
    [
      'community',
      'GET',
      /^\/api\/communities\/([^/]+)$/,
      (received: Received) => this.#readCommunity(received),
    ],
    ['draft', 'GET', /^\/api\/records\/([^/]+)\/draft$/, this.#onDraft((record) => this.#shown(record))],
    ['record', 'GET', /^\/api\/records\/([^/]+)$/, (received: Received) => this.#readRecord(received)],
    [
      'reserve',
      'POST',
      /^\/api\/records\/([^/]+)\/draft\/pids\/doi$/,
      this.#onDraft((record) => this.#reserve(record)),
    ],
    [
      'published files',
      'GET',
      /^\/api\/records\/([^/]+)\/files$/,
      ({ params: [id = ''] }: Received) => listed(this.#known(id)),
    ],
    ['files', 'GET', /^\/api\/records\/([^/]+)\/draft\/files$/, this.#onDraft((record) => listed(record))],
    [
      'begin',
      'POST',
      /^\/api\/records\/([^/]+)\/draft\/files$/,
      this.#onDraft((record, received) => begin(record, received)),
    ],
    [
      'content',
      'PUT',
      /^\/api\/records\/([^/]+)\/draft\/files\/(.+)\/content$/,
      this.#onDraft((record, received) => this.#content(record, received)),
    ],
    [
      'commit',
      'POST',
      /^\/api\/records\/([^/]+)\/draft\/files\/(.+)\/commit$/,
      this.#onDraft((record, received) => commit(record, received)),
    ],
    [
      'remove',
      'DELETE',
      /^\/api\/records\/([^/]+)\/draft\/files\/(.+)$/,
      this.#onDraft((record, received) => remove(record, received)),
    ],
    [
      'publish',
      'POST',
      /^\/api\/records\/([^/]+)\/draft\/actions\/publish$/,
      this.#onDraft((record) => this.#publish(record)),
    ],
    [
      'review',
      'PUT',
      /^\/api\/records\/([^/]+)\/draft\/review$/,
      this.#onDraft((record, received) => this.#review(record, received)),
    ],
    [
      'submit',
      'POST',
      /^\/api\/records\/([^/]+)\/draft\/actions\/submit-review$/,
      this.#onDraft((record) => submit(record)),
    ],
  ] as const;

  #onDraft(handle: (record: StoredRecord, received: Received) => Answer) {
    return (received: Received): Answer => {
      const record = this.records.get(received.params[0] ?? '');
      if (!record || record.isPublished) return notFound('The persistent identifier does not exist.');
      return handle(record, received);
    };
  }

  #create({ body }: Received): Answer {
    const { metadata, files, access } = JSON.parse(body.toString()) as {
      metadata?: StoredRecord['metadata'];
      files?: { enabled?: boolean };
      access?: { record?: string; files?: string };
    };
    if (!metadata || files?.enabled !== true || access?.files !== 'public')
      return { status: 400, json: { message: 'A validation error occurred.', errors: [] } };
    const id = `${String(this.#next++).padStart(5, '0')}-abcde`;
    this.records.set(id, {
      id,
      metadata,
      doi: undefined,
      isPublished: false,
      community: undefined,
      isInReview: false,
      files: new Map(),
      unindexed: this.indexLag,
    });
    return { ...this.#shown(this.#known(id)), status: 201 };
  }

  #known(id: string): StoredRecord {
    const record = this.records.get(id);
    if (!record) throw new TypeError(id);
    return record;
  }

  #shown(record: StoredRecord): Answer {
    const { id, metadata, doi, isPublished, isInReview } = record;
    const page = isPublished ? 'records' : 'uploads';
    return {
      status: 200,
      json: {
        id,
        metadata,
        is_published: isPublished,
        status: isPublished ? 'published' : isInReview ? 'in_review' : 'draft',
        pids: doi === undefined ? {} : { doi: { identifier: doi, provider: 'datacite' } },
        links: { self_html: `${this.url}/${page}/${id}${this.pageQuery}` },
      },
    };
  }

  #search({ query }: Received): Answer {
    const wanted = /^metadata\.identifiers\.identifier:"(.+)"$/.exec(query.get('q') ?? '')?.[1];
    const found = [...this.records.values()].filter((record) => {
      record.unindexed -= 1;
      return (
        record.unindexed < 0 && record.metadata.identifiers?.some(({ identifier }) => identifier === wanted)
      );
    });
    return {
      status: 200,
      json: { hits: { total: found.length, hits: found.map((record) => this.#shown(record).json) } },
    };
  }

  #readCommunity({ params: [name] }: Received): Answer {
    const { id, slug } = this.community;
    return name === id || name === slug
      ? { status: 200, json: { id, slug } }
      : notFound('No such community.');
  }

  #readRecord({ params: [id = ''] }: Received): Answer {
    const record = this.records.get(id);
    return record?.isPublished
      ? this.#shown(record)
      : notFound('The persistent identifier is not registered.');
  }

  #reserve(record: StoredRecord): Answer {
    record.doi ??= `10.5072/fk2.${record.id}`;
    return { ...this.#shown(record), status: 201 };
  }

  #content(record: StoredRecord, { params: [, key = ''], body, headers }: Received): Answer {
    const file = record.files.get(key);
    if (!file || file.isComplete) return notFound('The file was not begun.');
    if (Number(headers['content-length']) !== body.length)
      return { status: 400, json: { message: 'Cut short.' } };
    file.bytes = this.alter(key, body);
    return { status: 200, json: { key } };
  }

  #publish(record: StoredRecord): Answer {
    if (!this.mayPublish) return { status: 403, json: { message: 'Permission denied.' } };
    if (record.community !== undefined)
      return { status: 400, json: { message: 'It must be submitted for review.' } };
    if ([...record.files.values()].some(({ isComplete }) => !isComplete))
      return {
        status: 400,
        json: { message: 'Validation error.', errors: [{ field: 'files', messages: ['Pending.'] }] },
      };
    this.accept(record.id);
    return { ...this.#shown(record), status: 202 };
  }

  /** Publishes a draft, as its owner or a reviewer does on the site. */
  accept(id: string): void {
    const record = this.#known(id);
    this.#reserve(record);
    record.isPublished = true;
    record.isInReview = false;
    this.publications.push(id);
  }

  #review(record: StoredRecord, { body }: Received): Answer {
    const { receiver, type } = JSON.parse(body.toString()) as {
      receiver?: { community?: string };
      type?: string;
    };
    if (type !== 'community-submission' || receiver?.community !== this.community.id)
      return { status: 400, json: { message: 'Invalid receiver.' } };
    record.community = receiver.community;
    return { status: 200, json: { status: 'created' } };
  }
}

function submit(record: StoredRecord): Answer {
  if (record.community === undefined) return notFound('There is no review.');
  record.isInReview = true;
  return { status: 202, json: { status: 'submitted' } };
}

function listed({ files }: StoredRecord): Answer {
  return { status: 200, json: { enabled: true, entries: [...files].map(entryOf) } };
}

function entryOf([key, { bytes, isComplete }]: readonly [string, StoredFile]) {
  return {
    key,
    status: isComplete ? 'completed' : 'pending',
    ...(isComplete && bytes
      ? { size: bytes.length, checksum: `md5:${createHash('md5').update(bytes).digest('hex')}` }
      : {}),
  };
}

function begin(record: StoredRecord, { body }: Received): Answer {
  for (const { key } of JSON.parse(body.toString()) as { key: string }[]) {
    if (record.files.has(key))
      return { status: 400, json: { message: `File with key ${key} already exists.` } };
    record.files.set(key, { bytes: undefined, isComplete: false });
  }
  return { ...listed(record), status: 201 };
}

function commit(record: StoredRecord, { params: [, key = ''] }: Received): Answer {
  const file = record.files.get(key);
  if (!file?.bytes) return { status: 400, json: { message: 'File content is missing.' } };
  file.isComplete = true;
  return { status: 200, json: entryOf([key, file]) };
}

function remove(record: StoredRecord, { params: [, key = ''] }: Received): Answer {
  return record.files.delete(key) ? { status: 204 } : notFound('No such file.');
}
