import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { createTreeNode, readTree, readTreeNode } from '../../../archive/tree/treeNodes.ts';
import type { ReadStore } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { created, ok, okText, withList } from '../../reply.ts';

export function nodesHandlers(store: ReadStore): Pick<Handlers, 'readTree' | 'createNode' | 'readNode'> {
  return {
    readTree: () => ok({ nodes: readTree(store) }),
    createNode: async ({ body, admitted }) => {
      const node = await createTreeNode(admitted.store, body);
      return created(node, pathOf(ROUTES.readNode.path, { path: node.path }));
    },
    readNode: ({ params }) => {
      const { page, packs } = readTreeNode(store, params.path ?? '');
      return okText(withList(page, 'packs', packs));
    },
  };
}
