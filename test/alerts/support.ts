import { expect } from 'vitest';
import type { Alert, AlertMessage, AlertTest, Delivery } from '../../shared/alerts/alert.ts';
import { CollectingNode, openCollectingNode } from '../collection/support.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { closeMailServers } from './mailServer.ts';
import { type Call, closeReceivers } from './webhookReceiver.ts';

/** A node that matches at once, with the calls that the tests of alerts need. */
export class AlertingNode extends CollectingNode {
  static async open(
    config: Parameters<typeof openTestNode>[0] = {},
    settings: object = {},
  ): Promise<AlertingNode> {
    return new AlertingNode((await openCollectingNode(settings, { idleMs: 0, ...config })).node);
  }

  /** Opens a data folder again, as it was left. */
  static async reopen(config: Parameters<typeof openTestNode>[0]): Promise<AlertingNode> {
    return new AlertingNode(await openTestNode({ idleMs: 0, ...config }));
  }

  async alert(when: object, to: object[], more: object = {}): Promise<Alert> {
    const response = await this.node.sendJson('POST', '/manage/alerts', { name: 'Rule', when, to, ...more });
    expect(response.status, await response.clone().text()).toBe(201);
    return (await response.json()) as Alert;
  }

  async deliveries(query = ''): Promise<Delivery[]> {
    return (await this.read<{ items: Delivery[] }>(`/manage/alerts/deliveries?limit=500&${query}`)).items;
  }

  /** Waits until the deliveries, oldest first, have these states. */
  async untilDelivered(...states: string[]): Promise<Delivery[]> {
    return eventually(async () => {
      const all = (await this.deliveries()).reverse();
      expect(all.map(({ state }) => state)).toEqual(states);
      return all;
    });
  }

  async sendTest(id: string): Promise<Delivery[]> {
    const response = await this.node.sendJson('POST', `/manage/alerts/${id}/test`, {});
    expect(response.status, await response.clone().text()).toBe(200);
    return ((await response.json()) as AlertTest).deliveries;
  }
}

/** For `afterEach`. */
export async function closeAll(): Promise<void> {
  await closeTestNodes();
  await closeScriptedWebs();
  closeReceivers();
  await closeMailServers();
}

/** What the body of a call says. */
export function dataOf(call: Call | undefined): AlertMessage & { rule: { id: string; name: string } } {
  return (JSON.parse(call?.body ?? '') as { data: AlertMessage & { rule: { id: string; name: string } } })
    .data;
}
