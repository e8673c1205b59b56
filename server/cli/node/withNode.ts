import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DEFAULT_HOST, DEFAULT_PORT, type NodeConfig } from '../../config.ts';
import { request as requestHttp } from '../../runtime/nodeHttp.ts';
import { isMissing } from '../../store/files.ts';
import { FolderInUseError, readEndpointFile } from '../../store/opening/folderLock.ts';
import { printError, UsageError } from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';
import { NodeClient, RefusedByNodeError } from './nodeClient.ts';

/** The options by which a command finds a running node. */
export interface NodeOptions {
  url?: string | undefined;
  /** What gives the address; `--url` by default. */
  addressOption?: '--node';
  data: string;
  'token-file'?: string | undefined;
}

/**
 * Runs a command with the node that has a data folder open. If none has, the node is opened in this process, on no network
 * and without its background work. With an address, the node at that address is used.
 *
 * @param config what the calling program sets for a node that is opened here
 * @throws UsageError if there is no token or the URL is not valid; what opening an archive throws; what `work` throws
 */
export async function withNode<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  work: (node: NodeClient) => Promise<Result>,
): Promise<Result> {
  if (options.url !== undefined) return work(await connectToNode(options));
  let opened: OpenedHere;
  try {
    opened = await openHere(resolve(options.data), config);
  } catch (error) {
    // Another command that has the folder open answers nowhere.
    if (!(error instanceof FolderInUseError) || !(await readEndpointFile(resolve(options.data)))) throw error;
    return work(await connectToNode(options));
  }
  try {
    return await work(opened.client);
  } catch (error) {
    throw opened.explained(error);
  } finally {
    await opened.close();
  }
}

/** As `withNode`, for a command that creates no archive. @throws UsageError if there is no archive in the folder */
export async function withArchive<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  work: (node: NodeClient) => Promise<Result>,
): Promise<Result> {
  if (options.url === undefined) archiveFolder(options.data);
  return withNode(options, config, work);
}

/**
 * Connects to the node that has a data folder open: at `--url` if it is given, else at the address that the node wrote
 * into the folder.
 *
 * @throws UsageError if there is no token or the URL is not valid
 */
export async function connectToNode(options: NodeOptions): Promise<NodeClient> {
  const endpoint = await readEndpointFile(resolve(options.data));
  const address = options.url ?? endpoint?.url ?? `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${JSON.stringify(address)} is not a valid URL.`);
  const token = await readToken(
    resolve(options['token-file'] ?? endpoint?.token_file ?? join(options.data, 'owner-token')),
  );
  const request = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
  return new NodeClient({
    name: `The program at ${address}`,
    token,
    request: (asked) => request(url, asked),
    unreachable: (cause) =>
      new Error(`No node answers at ${address}. Give its address with ${options.addressOption ?? '--url'}.`, {
        cause,
      }),
  });
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no owner's token at ${file}.`);
    throw error;
  }
}

/** A node that this process has opened. */
interface OpenedHere {
  client: NodeClient;
  /** Returns an error with the reason that the node logged, if it says no more than that something went wrong inside. */
  explained(error: unknown): unknown;
  close(): Promise<void>;
}

/** Opens a node in this process. Its requests pass through memory: it has no address that others could reach. */
async function openHere(dataFolder: string, config: Partial<NodeConfig>): Promise<OpenedHere> {
  // Loaded here, so that the list of commands does not wait for the node.
  const { openOwnNode } = await import('../../node.ts');
  let isOpen = false;
  let logged: unknown;
  const log = {
    info: () => {},
    // What is found when an archive is opened is for the person. What the node does later is in the answers.
    warn: (_: object, sentence: string) => isOpen || printError(sentence),
    error: (details: object) => {
      if ('error' in details) logged = details.error;
    },
  };
  const node = await openOwnNode({ log, ...config, dataFolder });
  isOpen = true;
  const token = await readToken(node.tokenFile).catch(async (error: unknown) => {
    await node.close();
    throw error;
  });
  const client = new NodeClient({
    name: 'The node',
    token,
    request: (asked) =>
      requestHttp({
        ...asked,
        host: DEFAULT_HOST,
        port: DEFAULT_PORT,
        createConnection: () => node.connect(),
      }),
    unreachable: (cause) => new Error('The node did not answer.', { cause }),
  });
  return {
    client,
    explained: (error) =>
      error instanceof RefusedByNodeError && error.code === 'internal_error' && logged instanceof Error
        ? new RefusedByNodeError(logged.message, error.code, { cause: logged })
        : error,
    close: () => node.close(),
  };
}
