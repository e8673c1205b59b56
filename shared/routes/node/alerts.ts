import { z } from 'zod';
import {
  alertChangeSchema,
  alertSchema,
  alertTestSchema,
  deliveriesQuery,
  deliverySchema,
  newAlertSchema,
} from '../../alerts/alert.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY } from '../route.ts';

/** Rules that send alerts, and what they sent. */
export const alertRoutes = {
  listAlerts: manageRoute({
    method: 'GET',
    path: '/manage/alerts',
    summary: 'List the rules that send alerts',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of rules, oldest first', schema: pageOf(alertSchema) } },
  }),
  addAlert: manageRoute({
    method: 'POST',
    path: '/manage/alerts',
    summary: 'Add a rule that sends alerts',
    description:
      'It applies to what happens from now on. If the node makes the secret of a webhook, this response is the only one that shows it.',
    body: jsonBody(newAlertSchema),
    responses: { 201: { description: 'The rule', schema: alertSchema } },
    problems: ['private_address', 'unknown_source'],
  }),
  readAlert: manageRoute({
    method: 'GET',
    path: '/manage/alerts/{id}',
    summary: 'Read a rule',
    responses: { 200: { description: 'The rule', schema: alertSchema } },
    problems: ['not_found'],
  }),
  changeAlert: manageRoute({
    method: 'PATCH',
    path: '/manage/alerts/{id}',
    summary: 'Change, pause or resume a rule',
    description: 'What happens while a rule is paused is not sent later.',
    body: jsonBody(alertChangeSchema),
    responses: { 200: { description: 'The rule', schema: alertSchema } },
    problems: ['not_found', 'private_address', 'unknown_source'],
  }),
  removeAlert: manageRoute({
    method: 'DELETE',
    path: '/manage/alerts/{id}',
    summary: 'Remove a rule',
    description: 'What waits to be sent is dropped. What was sent or failed stays listed.',
    responses: { 204: { description: 'Removed' } },
    problems: ['not_found'],
  }),
  testAlert: manageRoute({
    method: 'POST',
    path: '/manage/alerts/{id}/test',
    summary: 'Send a test to every target of a rule',
    description: 'There is one attempt for each. The response reports the outcome.',
    body: NO_BODY,
    responses: { 200: { description: 'The deliveries', schema: alertTestSchema } },
    problems: ['not_found'],
  }),
  listDeliveries: manageRoute({
    method: 'GET',
    path: '/manage/alerts/deliveries',
    summary: 'List what was sent, waits to be sent or failed',
    query: deliveriesQuery,
    responses: {
      200: { description: 'A page of deliveries, newest first', schema: pageOf(deliverySchema) },
    },
  }),
  retryDelivery: manageRoute({
    method: 'POST',
    path: '/manage/alerts/deliveries/{id}/retry',
    summary: 'Send a failed delivery again',
    description:
      'It is tried for another day. A webhook gets the same `webhook-id`. A message whose sending was interrupted may arrive a second time.',
    body: NO_BODY,
    responses: { 200: { description: 'The delivery', schema: deliverySchema } },
    problems: ['not_found', 'not_failed'],
  }),
};
