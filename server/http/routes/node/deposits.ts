import { listPackDeposits } from '../../../archive/packs/recordDeposit.ts';
import type { Deposits } from '../../../repositories/deposit/deposits.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { accepted, created, noContent, page } from '../../reply.ts';

type DepositRoutes =
  | 'listRepositories'
  | 'addRepository'
  | 'removeRepository'
  | 'listPackDeposits'
  | 'listDeposits'
  | 'deposit';

/** Handlers for repositories and the deposits in them. */
export function depositHandlers(store: Store, deposits: Deposits): Pick<Handlers, DepositRoutes> {
  const at = (pack: string) => `/manage/deposits?pack=${pack}`;
  return {
    listRepositories: async ({ query, request }) =>
      page(request, query, await deposits.listRepositories(query)),
    addRepository: async ({ body }) => {
      const repository = await deposits.addRepository(body);
      return created(repository, `/manage/repositories/${repository.id}`);
    },
    removeRepository: async ({ params }) => {
      await deposits.removeRepository(params.id ?? '');
      return noContent;
    },
    listPackDeposits: ({ query, request }) => page(request, query, listPackDeposits(store.read, query)),
    listDeposits: ({ query, request }) => page(request, query, deposits.list(query, query.pack)),
    deposit: async ({ query: { wait }, body }) => {
      const begun = await deposits.deposit(body);
      if ('id' in begun) return created(begun, at(begun.pack));
      if (!wait) return accepted(begun.job);
      const deposit = await deposits.ended(begun, body);
      return created(deposit, at(deposit.pack));
    },
  };
}
