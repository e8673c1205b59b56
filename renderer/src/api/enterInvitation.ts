import { answerOf, reach } from './client.ts';

/** Sends the form with a visitor's token; the node answers with a cookie. Throws ApiProblem or NodeUnreachable. */
export async function enterInvitation(form: HTMLFormElement): Promise<void> {
  const typed = new FormData(form).get('token');
  const token = typeof typed === 'string' ? typed : '';
  const response = await reach('/invitation', { method: 'POST', body: new URLSearchParams({ token }) });
  await answerOf(response);
}
