import { expect } from 'chai';
import { isFor, type Audience } from '../../../adapters/http/server/access.js';
import { groupsOf } from '../../../adapters/http/docs/groups.js';
import { route, type Route } from '../../../adapters/http/server/route.js';

const answered = (path: string, access: 'public' | 'key' | 'operator', tag: string): Route =>
  route(`GET ${path}`, {
    id: tag,
    summary: path,
    access: access === 'public' ? { kind: access } : { kind: access, scope: null },
    failure: 'internal_error',
    tags: [tag],
    responses: {},
    handle: () => Promise.resolve({ status: 200, body: {} }),
  });

const routes = [
  answered('/api/v1/cards', 'key', 'cards'),
  answered('/operator/v1/keys', 'operator', 'operator'),
  answered('/log/checkpoint', 'public', 'log'),
  answered('/healthz', 'public', 'health'),
  answered('/readyz', 'public', 'health'),
];

const pagesFor = (audience: Audience) => {
  const { customers, operators } = groupsOf(routes.filter(isFor(audience)));
  return { customers: customers.map(({ path }) => path), operators: operators.map(({ path }) => path) };
};

describe('the groups of the reference', () => {
  it('are all there where one listener answers everybody', () => {
    expect(pagesFor('all')).to.deep.equal({
      customers: ['/docs/reference/cards', '/docs/reference/log', '/docs/reference/health'],
      operators: ['/docs/operator/keys', '/docs/operator/health'],
    });
  });

  it('are none of the operator on the listener for customers, which answers for the log and its health', () => {
    expect(pagesFor('public')).to.deep.equal({
      customers: ['/docs/reference/cards', '/docs/reference/log', '/docs/reference/health'],
      operators: [],
    });
  });

  it('are none of customers on the listener for operators', () => {
    expect(pagesFor('operator')).to.deep.equal({
      customers: [],
      operators: ['/docs/operator/keys', '/docs/operator/health'],
    });
  });
});
