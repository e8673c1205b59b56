import type { Alerts } from '../../../alerts/alerts.ts';
import type { Handlers } from '../../app.ts';
import { created, noContent, ok, page } from '../../reply.ts';

type AlertRoutes =
  | 'listAlerts'
  | 'addAlert'
  | 'readAlert'
  | 'changeAlert'
  | 'removeAlert'
  | 'testAlert'
  | 'listDeliveries'
  | 'retryDelivery';

/** Handlers for the rules that send alerts. */
export function alertHandlers(alerts: Alerts): Pick<Handlers, AlertRoutes> {
  return {
    listAlerts: ({ query, request }) => page(request, query, alerts.list(query)),
    addAlert: async ({ body }) => {
      const alert = await alerts.add(body);
      return created(alert, `/manage/alerts/${alert.id}`);
    },
    readAlert: ({ params }) => ok(alerts.read(params.id ?? '')),
    changeAlert: async ({ params, body }) => ok(await alerts.change(params.id ?? '', body)),
    removeAlert: async ({ params }) => {
      await alerts.remove(params.id ?? '');
      return noContent;
    },
    testAlert: async ({ params }) => ok(await alerts.test(params.id ?? '')),
    listDeliveries: ({ query, request }) => page(request, query, alerts.deliveries(query)),
    retryDelivery: async ({ params }) => ok(await alerts.retry(params.id ?? '')),
  };
}
