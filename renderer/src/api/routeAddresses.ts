import { ROUTE_SPECS, type RouteName } from '../../../shared/routes.ts';

/**
 * The method and the path template of each route. The build evaluates this module and sends its values to the browser,
 * without the schemas of the route table, which only the node reads (`vite.config.ts`).
 */
export const ROUTE_ADDRESSES = Object.fromEntries(
  Object.entries(ROUTE_SPECS).map(([name, { method, path }]) => [name, { method, path }]),
) as { readonly [Name in RouteName]: { method: string; path: string } };
