import type { RouteName } from '../../../shared/routes.ts';
import { readResponse, sendRequest, UnexpectedResponse, urlOf } from './client.ts';

/** Requests a route that returns plain text. Throws ApiProblem, NodeUnreachable or UnexpectedResponse. */
export async function readText(name: RouteName, signal?: AbortSignal): Promise<string> {
  const response = await sendRequest(urlOf(name), { signal });
  if (!response.ok) {
    await readResponse(response);
    throw new UnexpectedResponse(response.status);
  }
  return response.text();
}
