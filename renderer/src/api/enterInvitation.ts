import { readResponse, sendRequest } from './client.ts';

/**
 * Sends a visitor's invitation token. The node keeps it in a cookie that scripts cannot read. Throws ApiProblem or
 * NodeUnreachable.
 */
export async function enterInvitation(token: string): Promise<void> {
  const response = await sendRequest('/invitation', { method: 'POST', body: new URLSearchParams({ token }) });
  await readResponse(response);
}
