import { newToken } from '../../../application/access/sessions.js';
import { today } from '../../../domain/calendar.js';
import { isBlank } from '../../../domain/text.js';
import { clientAddress } from '../server/caller.js';
import type { HttpRequest } from '../server/route.js';
import { pageUrl, pathTo, placeOf } from '../web/paths.js';
import type { ConsoleDeps } from './deps.js';
import type { Context, Page } from './page.js';
import { noticeOf } from './notice.js';
import { browserIn } from './visitor.js';

export type PageRequest = HttpRequest<unknown, Readonly<Record<string, string>>, object>;

/** The context of a request, before its visitor is admitted. */
export const contextOf = (
  deps: ConsoleDeps,
  request: PageRequest,
  { path, query }: Pick<Page, 'path' | 'query'>,
): Context => {
  const { origin, prefix } = placeOf(deps.baseUrl());
  const sent = new URLSearchParams(request.search);
  const valueOf = (name: string): string => {
    const value = query.includes(name) ? (sent.getAll(name).at(-1) ?? '') : '';
    return isBlank(value) ? '' : value.trim();
  };
  const given = query.map((name) => [name, valueOf(name)] as const).filter(([, value]) => value !== '');
  return {
    deps,
    visitor: { kind: 'anonymous' },
    here: null,
    path,
    params: request.params,
    query: valueOf,
    self: pageUrl(prefix, path, request.params, Object.fromEntries(given)),
    requestId: request.id,
    came: request.came,
    isRehearsal: false,
    traceparent: request.traceparent,
    origin,
    browser: browserIn(request.header('user-agent')[0]),
    cookies: request.header('cookie').join('; '),
    address: clientAddress(request, deps.trustedProxies),
    url: (to, params, values) => pageUrl(prefix, pathTo(to), params, values),
    signal: request.signal,
    timeZone: deps.timeZone,
    year: today(deps.clock.instant(), deps.timeZone).slice(0, 4),
    newForm: () => newToken(deps.entropy),
    mayDo: () => false,
    mayAct: true,
    notice: noticeOf(valueOf('done')),
    refused: null,
    labels: new Map(),
  };
};
