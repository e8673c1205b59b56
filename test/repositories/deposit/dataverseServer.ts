import { createHash } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { type Answer, type Received, RepositoryServer } from './repositoryServer.ts';

interface Field {
  typeName: string;
  value: unknown;
}

interface StoredDataset {
  id: number;
  persistentId: string;
  license: unknown;
  fields: Field[];
  state: 'DRAFT' | 'RELEASED';
  files: {
    id: number;
    label: string;
    directoryLabel: string | undefined;
    description: string;
    bytes: Buffer;
  }[];
}

/**
 * A repository with the native API of Dataverse, as its guide documents it: datasets in collections, files in a multipart
 * request, ZIP files unpacked, tabular files ingested unless refused, names restricted, publication some time later.
 */
export class DataverseServer extends RepositoryServer {
  readonly datasets = new Map<string, StoredDataset>();
  readonly publications: string[] = [];
  collection = ':root';
  /** How often a dataset is read as a draft before its publication has taken place. */
  publishingReads = 0;
  #next = 1;

  protected tokenOf(headers: Received['headers']): string | undefined {
    return headers['x-dataverse-key'] as string | undefined;
  }

  protected readonly routes = [
    [
      'create',
      'POST',
      /^\/api\/dataverses\/([^/]+)\/datasets$/,
      (received: Received) => this.#create(received),
    ],
    [
      'contents',
      'GET',
      /^\/api\/dataverses\/([^/]+)\/contents$/,
      (received: Received) => this.#contents(received),
    ],
    // Its index never has what was created a moment ago.
    ['search', 'GET', /^\/api\/search$/, () => ok({ items: [], total_count: 0 })],
    ['user', 'GET', /^\/api\/users\/:me$/, () => ok({ email: 'ada@example.org' })],
    [
      'dataset',
      'GET',
      /^\/api\/datasets\/:persistentId\/$/,
      this.#onDataset((dataset) => this.#shown(dataset)),
    ],
    [
      'add',
      'POST',
      /^\/api\/datasets\/:persistentId\/add$/,
      this.#onDataset((dataset, received) => this.#add(dataset, received)),
    ],
    [
      'publish',
      'POST',
      /^\/api\/datasets\/:persistentId\/actions\/:publish$/,
      this.#onDataset((dataset, received) => this.#publish(dataset, received)),
    ],
    ['remove', 'DELETE', /^\/api\/files\/(\d+)$/, (received: Received) => this.#remove(received)],
  ] as const;

  #onDataset(handle: (dataset: StoredDataset, received: Received) => Answer) {
    return (received: Received): Answer => {
      const dataset = this.datasets.get(received.query.get('persistentId') ?? '');
      return dataset ? handle(dataset, received) : failed(404, 'Dataset with Persistent ID not found.');
    };
  }

  #create({ params: [collection], body }: Received): Answer {
    if (collection !== this.collection)
      return failed(404, `Can't find dataverse with identifier='${collection}'`);
    const { datasetVersion } = JSON.parse(body.toString()) as {
      datasetVersion: { license: unknown; metadataBlocks: { citation: { fields: Field[] } } };
    };
    const { fields } = datasetVersion.metadataBlocks.citation;
    const required = ['title', 'author', 'datasetContact', 'dsDescription', 'subject'];
    const missing = required.filter((name) => !fields.some(({ typeName }) => typeName === name));
    if (missing.length > 0) return failed(400, `Validation Failed: ${missing.join(', ')} is required.`);
    const id = this.#next++;
    const persistentId = `doi:10.5072/FK2/${String(id).padStart(6, 'A')}`;
    const { license } = datasetVersion;
    this.datasets.set(persistentId, { id, persistentId, license, fields, state: 'DRAFT', files: [] });
    return { ...ok({ id, persistentId }), status: 201 };
  }

  #contents({ params: [collection] }: Received): Answer {
    if (collection !== this.collection) return failed(404, 'No such collection.');
    return ok(
      [...this.datasets.values()].map(({ id, persistentId }) => {
        const [authority, shoulder, name] = persistentId.slice(4).split('/');
        return {
          id,
          type: 'dataset',
          protocol: 'doi',
          authority,
          separator: '/',
          identifier: `${shoulder}/${name}`,
        };
      }),
    );
  }

  #shown(dataset: StoredDataset): Answer {
    const { id, persistentId, fields, files } = dataset;
    const isPublishing = dataset.state === 'RELEASED' && this.publishingReads-- > 0;
    return ok({
      id,
      latestVersion: {
        datasetPersistentId: persistentId,
        versionState: isPublishing ? 'DRAFT' : dataset.state,
        metadataBlocks: { citation: { fields } },
        files: files.map(({ id: fileId, label, directoryLabel, description, bytes }) => ({
          label,
          description,
          ...(directoryLabel === undefined ? {} : { directoryLabel }),
          dataFile: {
            id: fileId,
            filename: label,
            filesize: bytes.length,
            checksum: { type: 'SHA-1', value: createHash('sha1').update(bytes).digest('hex') },
          },
        })),
      },
    });
  }

  #add(dataset: StoredDataset, { body, headers }: Received): Answer {
    const { json, name, content } = partsOf(body, headers['content-type'] ?? '');
    const { directoryLabel, description, tabIngest } = JSON.parse(json) as Record<string, string>;
    if (directoryLabel !== undefined && !/^[\w\-. /]+$/.test(directoryLabel))
      return failed(500, 'Directory Name cannot contain invalid characters.');
    if (/[/:*?"<>|;#\\]|[^\x20-\x7e]/.test(name))
      return failed(400, 'File Name cannot contain these characters.');
    const bytes = tabIngest !== 'false' && name.endsWith('.csv') ? Buffer.from('ingested') : content;
    const unpacked =
      content.subarray(0, 4).toString() === 'PK\u0003\u0004' ? unzip(content) : [{ path: name, bytes }];
    for (const each of unpacked) {
      const label = each.path.split('/').at(-1) ?? '';
      dataset.files.push({
        id: this.#next++,
        label,
        directoryLabel,
        description: description ?? '',
        bytes: each.bytes,
      });
    }
    return ok({ files: [] });
  }

  #publish(dataset: StoredDataset, { query }: Received): Answer {
    if (query.get('type') !== 'major') return failed(400, 'Say major or minor.');
    if (dataset.state === 'RELEASED') return failed(403, 'The latest version is already published.');
    dataset.state = 'RELEASED';
    this.publications.push(dataset.persistentId);
    return ok({ id: dataset.id });
  }

  #remove({ params: [id] }: Received): Answer {
    for (const dataset of this.datasets.values())
      dataset.files = dataset.files.filter((file) => String(file.id) !== id);
    return ok({ message: 'Deleted.' });
  }
}

function ok(data: unknown): Answer {
  return { status: 200, json: { status: 'OK', data } };
}

function failed(status: number, message: string): Answer {
  return { status, json: { status: 'ERROR', message } };
}

/** Reads a form of one field and one file, strictly as RFC 7578 writes it. */
function partsOf(body: Buffer, type: string): { json: string; name: string; content: Buffer } {
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(type)?.[1] ?? '';
  const text = body.toString('latin1');
  const parts = text.split(`--${boundary}`).slice(1, -1);
  if (parts.length !== 2 || !text.endsWith(`--${boundary}--\r\n`))
    throw new TypeError('Not a form of two parts.');
  const [json, file] = parts.map((part) => {
    const end = part.indexOf('\r\n\r\n');
    return { head: part.slice(0, end), content: part.slice(end + 4, -2) };
  });
  const name = /name="file"; filename="([^"]+)"/.exec(file?.head ?? '')?.[1] ?? '';
  if (!json?.head.includes('name="jsonData"')) throw new TypeError('No jsonData.');
  return {
    json: Buffer.from(json.content, 'latin1').toString('utf8'),
    name,
    content: Buffer.from(file?.content ?? '', 'latin1'),
  };
}

/** Reads the entries of a ZIP from its local headers, which have the sizes. */
function unzip(zip: Buffer): { path: string; bytes: Buffer }[] {
  const entries: { path: string; bytes: Buffer }[] = [];
  let at = 0;
  while (zip.readUInt32LE(at) === 0x04034b50) {
    const [method, size, nameLength, extra] = [
      zip.readUInt16LE(at + 8),
      zip.readUInt32LE(at + 18),
      zip.readUInt16LE(at + 26),
      zip.readUInt16LE(at + 28),
    ];
    const start = at + 30 + nameLength + extra;
    const content = zip.subarray(start, start + size);
    const path = zip.subarray(at + 30, at + 30 + nameLength).toString();
    entries.push({ path, bytes: method === 0 ? content : inflateRawSync(content) });
    at = start + size;
  }
  return entries;
}
