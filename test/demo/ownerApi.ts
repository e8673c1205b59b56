import { readFile } from 'node:fs/promises';
import type { Pack, PackRecordInput } from '../../shared/archive/pack.ts';
import { type BodyInputOf, pathOf, type ResponseOf } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName, type RouteTable } from '../../shared/routes.ts';

/** A file to upload with a pack. */
export interface UploadFile {
  path: string;
  mediaType: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** A client of a node's HTTP interface, with the owner's token. */
export interface OwnerApi {
  readonly url: string;
  call<Name extends RouteName>(
    name: Name,
    options?: {
      params?: Record<string, string>;
      query?: Record<string, string>;
      body?: BodyInputOf<RouteTable[Name]>;
    },
  ): Promise<ResponseOf<RouteTable[Name]>>;
  addPack(record: Omit<PackRecordInput, 'files'>, files: UploadFile[]): Promise<Pack>;
}

export async function openOwnerApi(node: { url: string; tokenFile: string }): Promise<OwnerApi> {
  const token = (await readFile(node.tokenFile, 'utf8')).trim();
  const send = async (
    method: string,
    address: string,
    body?: BodyInit,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(new URL(address, node.url), {
      method,
      body,
      headers: { ...headers, Authorization: `Bearer ${token}` },
    });
    const answer: unknown = response.status === 204 ? undefined : await response.json();
    if (!response.ok) {
      throw new Error(`${method} ${address} was answered ${response.status}: ${JSON.stringify(answer)}`);
    }
    return answer;
  };
  return {
    url: node.url,
    call: async (name, { params, query = {}, body } = {}) => {
      const { method, path } = ROUTE_SPECS[name];
      const search = new URLSearchParams(query).toString();
      const address = pathOf(path, params) + (search && `?${search}`);
      return (await (body === undefined
        ? send(method, address)
        : send(method, address, JSON.stringify(body), { 'Content-Type': 'application/json' }))) as never;
    },
    addPack: async (record, files) => {
      const form = new FormData();
      form.set('record', JSON.stringify(record));
      for (const { path, mediaType, bytes } of files) {
        form.append('files', new File([bytes], path, { type: mediaType }), path);
      }
      return (await send('POST', '/api/packs', form)) as Pack;
    },
  };
}
