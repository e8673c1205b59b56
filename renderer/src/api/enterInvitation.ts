import { readResponse, sendRequest } from './client.ts';

/**
 * Sends a visitor's invitation token. The node sets a session cookie. Throws ApiProblem or NodeUnreachable.
 */
export async function enterInvitation(form: HTMLFormElement): Promise<void> {
  const typed = new FormData(form).get('token');
  const token = typeof typed === 'string' ? typed : '';
  const response = await sendRequest('/invitation', { method: 'POST', body: new URLSearchParams({ token }) });
  await readResponse(response);
}
