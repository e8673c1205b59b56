import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { readTimestampReply } from '../../../shared/proof/ledger/timestamp.ts';
import { temporaryFolder } from '../node.ts';

const run = promisify(execFile);

/** The extensions of the certificates. Only `sound` may sign timestamps. */
const USAGES = {
  sound: 'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature',
  uncritical: 'extendedKeyUsage=timeStamping',
  twofold: 'extendedKeyUsage=critical,timeStamping,codeSigning',
  certifying: 'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature,keyCertSign',
  other: 'extendedKeyUsage=critical,codeSigning',
  none: 'basicConstraints=CA:FALSE',
};
export type Usage = keyof typeof USAGES;

export interface Answer {
  status?: number;
  type?: string;
  body: Buffer;
}
export type Answering = (query: Buffer, authority: TimestampAuthority) => Promise<Answer> | Answer;

const opened: TimestampAuthority[] = [];

/** A timestamp authority made with `openssl ts`, behind an HTTP server on loopback. It answers as `answering` says. */
export class TimestampAuthority {
  readonly #server: Server;
  readonly folder: string;
  /** How it answers the next requests. */
  answering: Answering = honest;
  /** The requests so far. */
  readonly queries: Buffer[] = [];
  #count = 0;

  private constructor(folder: string) {
    this.folder = folder;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @param key the arguments of `openssl genpkey` */
  static async open(key: readonly string[] = EC_KEY): Promise<TimestampAuthority> {
    const authority = new TimestampAuthority(await temporaryFolder());
    await authority.#makeKeys(key);
    authority.#server.listen(0, '127.0.0.1');
    await once(authority.#server, 'listening');
    opened.push(authority);
    return authority;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/tsr`;
  }

  /** The certificate with which a reader trusts it. */
  get rootFile(): string {
    return join(this.folder, 'ca.pem');
  }

  /** Runs openssl in the authority's folder. */
  async openssl(...args: string[]): Promise<string> {
    return (await run('openssl', args, { cwd: this.folder })).stdout;
  }

  async #makeKeys(key: readonly string[]): Promise<void> {
    for (const name of ['ca', 'tsa']) await this.openssl('genpkey', ...key, '-out', `${name}.key`);
    const root = ['-subj', '/O=Strongroom tests/CN=Root', '-days', '3650', '-out', 'ca.pem'];
    await this.openssl('req', '-x509', '-key', 'ca.key', ...root);
    await this.openssl(
      'req',
      '-new',
      '-key',
      'tsa.key',
      '-subj',
      '/O=Strongroom tests/CN=Authority',
      '-out',
      'tsa.csr',
    );
    await this.certify('sound');
    const lines = ['serial=serial', 'signer_cert=sound.pem', 'signer_key=tsa.key', 'certs=ca.pem'];
    const rules = [
      'signer_digest=sha256',
      'default_policy=1.2.3.4',
      'digests=sha256',
      'ess_cert_id_alg=sha256',
    ];
    await writeFile(join(this.folder, 'tsa.cnf'), `[tsa]\n${[...lines, ...rules].join('\n')}\n`);
    await writeFile(join(this.folder, 'serial'), '01\n');
  }

  /** Makes a certificate for the authority's key, and returns its file. */
  async certify(usage: Usage, days = 3650): Promise<string> {
    const file = days > 0 ? `${usage}.pem` : `${usage}-expired.pem`;
    await writeFile(join(this.folder, 'extensions'), USAGES[usage]);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days)];
    await this.openssl('x509', '-req', '-in', 'tsa.csr', ...by, '-extfile', 'extensions', '-out', file);
    return file;
  }

  /** Answers a query as `openssl ts` does, with this certificate. */
  async stamp(query: Buffer, certificate = 'sound.pem'): Promise<Buffer> {
    const name = `${(this.#count += 1)}`;
    await writeFile(join(this.folder, `${name}.tsq`), query);
    const by = ['-config', 'tsa.cnf', '-section', 'tsa', '-signer', certificate];
    await this.openssl('ts', '-reply', ...by, '-queryfile', `${name}.tsq`, '-out', `${name}.tsr`);
    return readFile(join(this.folder, `${name}.tsr`));
  }

  /** Answers with a timestamp that is signed by a certificate which `openssl ts` refuses to sign with. */
  async stampWith(query: Buffer, usage: Usage): Promise<Buffer> {
    const certificate = await this.certify(usage);
    const info = readTimestampReply(await this.stamp(query)).content;
    const name = `${(this.#count += 1)}`;
    await writeFile(join(this.folder, `${name}.info`), info);
    const what = [
      '-econtent_type',
      '1.2.840.113549.1.9.16.1.4',
      '-binary',
      '-nodetach',
      '-cades',
      '-nosmimecap',
    ];
    const by = ['-signer', certificate, '-inkey', 'tsa.key', '-md', 'sha256', '-outform', 'DER'];
    await this.openssl('cms', '-sign', '-in', `${name}.info`, ...what, ...by, '-out', `${name}.cms`);
    const token = await readFile(join(this.folder, `${name}.cms`));
    const granted = Buffer.from('3003020100', 'hex');
    const length = Buffer.from([0x30, 0x82, 0, 0]);
    length.writeUInt16BE(granted.length + token.length, 2);
    return Buffer.concat([length, granted, token]);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let query: Buffer;
    try {
      query = await buffer(request);
    } catch (error) {
      // A client that gives up while it sends waits for no answer.
      if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return;
      throw error;
    }
    this.queries.push(query);
    const isQuery =
      request.method === 'POST' && request.headers['content-type'] === 'application/timestamp-query';
    const answer = isQuery
      ? await this.answering(query, this)
      : { status: 415, body: Buffer.from('No query.') };
    const { status = 200, type = 'application/timestamp-reply', body } = answer;
    response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export const EC_KEY = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
export const RSA_KEY = ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'];

const honest: Answering = async (query, authority) => ({ body: await authority.stamp(query) });

/** For `afterEach`: closes every authority that a test opened. */
export async function closeTimestampAuthorities(): Promise<void> {
  for (const authority of opened.splice(0)) await authority.close();
}
