import { expect } from 'chai';
import { Fragment, h, type ComponentChildren } from 'preact';
import { createHmac } from 'node:crypto';
import { verifyInNode } from '../../../adapters/http/docs/guides/webhooks.js';
import { errorPages } from '../../../adapters/http/document/error-pages.js';
import { render } from 'preact-render-to-string';
import { assetUrl } from '../../../adapters/http/web/assets.js';
import { block, inline } from '../../../adapters/http/web/prose.js';
import { statusOf, statuses } from '../../../adapters/http/server/errors.js';
import { errorCodes } from '../../../domain/errors.js';
import { call, codeOf, startHttp, type TestService } from '../../support/http/http.js';
import { newTraces, testRoutes } from '../../support/http/http-routes.js';

/** A part of a page as HTML. */
const htmlOf = (part: ComponentChildren): string => render(h(Fragment, null, part));

describe('a part of a page', () => {
  it('escapes what it is given', () => {
    expect(htmlOf(inline('a `<b title="x">` & c'))).to.equal(
      'a <code>&lt;b title=&quot;x&quot;></code> &amp; c',
    );
    expect(htmlOf(block('</code><script>'))).to.equal(
      '<pre tabindex="0"><code>&lt;/code>&lt;script></code></pre>',
    );
  });
});

describe('the documentation', () => {
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(newTraces()));
  });
  after(() => service.close());

  it('has a page for every error code, with what was charged and what to do', async () => {
    for (const code of errorCodes) {
      const page = await call(service, { path: `/docs/errors/${code}` });
      expect([page.status, page.headers['content-type']], code).to.deep.equal([
        200,
        'text/html; charset=utf-8',
      ]);
      for (const text of [
        `<code>${code}</code>`,
        `HTTP ${statusOf(code)}`,
        'Was anything charged?',
        htmlOf(inline(errorPages[code].means)),
        htmlOf(inline(errorPages[code].next)),
      ])
        expect(page.text).to.include(text);
    }
  });
  it('says for every error code that nothing was charged, except request_in_progress and too_late_to_cancel', async () => {
    const charged = [];
    for (const code of errorCodes)
      if (!/<p>No\. /.test((await call(service, { path: `/docs/errors/${code}` })).text)) charged.push(code);
    expect(charged).to.deep.equal(['request_in_progress', 'too_late_to_cancel']);
  });
  const documents = [
    '/docs',
    '/docs/quick-start',
    '/docs/reference/cards',
    '/docs/errors',
    '/docs/errors/no_credits',
    '/docs/search.json',
    '/openapi.json',
    '/asyncapi.json',
  ];
  for (const path of documents)
    it(`is compressed, and not sent again to those who have it: ${path}`, async () => {
      const plain = await call(service, { path });
      const { etag = '' } = plain.headers;
      expect(etag).to.match(/^W\/"[\w-]{22}"$/);
      expect(plain.headers).to.include({ 'cache-control': 'public, max-age=60', vary: 'accept-encoding' });
      expect(plain.headers['content-encoding']).to.equal(undefined);
      const small = await call(service, { path, headers: { 'accept-encoding': 'br, gzip;q=0.8' } });
      expect(small.headers).to.include({ 'content-encoding': 'gzip', etag });
      expect(Number(small.headers['content-length'])).to.be.below(Number(plain.headers['content-length']));
      const unpacked = await fetch(`${service.base}${path}`);
      expect([unpacked.headers.get('content-encoding'), await unpacked.text()]).to.deep.equal([
        'gzip',
        plain.text,
      ]);
      const refused = await call(service, { path, headers: { 'accept-encoding': 'gzip;q=0, deflate' } });
      expect(refused.headers['content-encoding']).to.equal(undefined);
      for (const known of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
        const again = await call(service, { path, headers: { 'if-none-match': known } });
        expect([again.status, again.text, again.headers['etag']], known).to.deep.equal([304, '', etag]);
        expect(again.headers['x-request-id']).to.match(/^req_/);
      }
      expect((await call(service, { path, headers: { 'if-none-match': 'W/"other"' } })).status).to.equal(200);
      const head = await call(service, { method: 'HEAD', path });
      expect([head.status, head.text, head.headers['etag']]).to.deep.equal([200, '', etag]);
    });
  it('responds to an unknown error code with a 404 in JSON', async () => {
    for (const code of ['nothing', 'INVALID_JSON', '%3Cscript%3E', 'toString', '%zz', '%20']) {
      const reply = await call(service, { path: `/docs/errors/${code}`, headers: { accept: 'text/html' } });
      expect([reply.status, codeOf(reply), reply.headers['content-type']], code).to.deep.equal([
        404,
        'not_found',
        'application/json; charset=utf-8',
      ]);
    }
  });
  it('has a page for each group of operations, to which links of its first page lead', async () => {
    const { text } = await call(service, { path: '/docs' });
    for (const [id, path] of [
      ['sendCard', '/docs/reference/cards'],
      ['listCards', '/docs/reference/cards'],
      ['fireHook', '/docs/reference/hooks'],
      ['getAccount', '/docs/reference/account'],
    ] as const) {
      expect(text).to.include(`<li><a href="${path}#${id}"`);
      expect((await call(service, { path })).text).to.include(`<section id="${id}"`);
    }
    expect((await call(service, { path: '/docs/reference/health' })).text).to.include(
      '<section id="getHealth"',
    );
  });
  it('lists every error code', async () => {
    const { text } = await call(service, { path: '/docs/errors' });
    for (const code of errorCodes) expect(text).to.include(`href="/docs/errors/${code}"`);
  });
  it('loads nothing from other hosts', async () => {
    for (const path of ['/docs', '/docs/reference/cards', '/docs/errors/no_credits', '/docs/search?q=card']) {
      const page = await call(service, { path });
      expect(page.headers['content-security-policy'])
        .to.match(/^default-src 'none';/)
        .and.not.match(/unsafe|http:|https:|\*/);
      expect(page.text).not.to.match(/(?:src|href)="(?:https?:)?\/\//);
      expect(page.text).not.to.match(/<script(?! type="module" src="\/assets\/)|<style|\son\w+=|style="/);
    }
  });
  it('has files for its pages that browsers may keep forever, under names with their digest', async () => {
    for (const [name, type] of [
      ['docs.css', 'text/css; charset=utf-8'],
      ['pages.js', 'text/javascript; charset=utf-8'],
      ['docs.js', 'text/javascript; charset=utf-8'],
      ['reader.js', 'text/javascript; charset=utf-8'],
    ] as const) {
      const path = assetUrl('', name);
      expect((await call(service, { path: '/docs/reference/cards' })).text).to.include(`"${path}"`);
      const file = await call(service, { path });
      expect(file.headers).to.include({
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
      });
      const other = path.replace(/\.[0-9a-f]{12}\./, '.0123456789ab.');
      expect(codeOf(await call(service, { path: other }))).to.equal('not_found');
    }
    for (const name of [
      'docs.css',
      'console.0123456789ab.css',
      'nothing.0123456789ab.woff2',
      'toString',
      '%2e%2e',
      '..%2fdocs.js',
    ])
      expect(codeOf(await call(service, { path: `/assets/${name}` })), name).to.equal('not_found');
  });

  describe('teaches to check a signature with code that', () => {
    const secret = 'whsec_c2VjcmV0';
    const body = Buffer.from('{"id":"evt_1","name":"Zoë"}');
    const now = 1_772_463_600;
    const v1 = (key: string, time = now): string =>
      createHmac('sha256', key).update(`${time}.`).update(body).digest('hex');
    let isOurs: (rawBody: Buffer, header: string, secret: string, now: number) => boolean;
    before(async () => {
      ({ isOurs } = (await import(`data:text/javascript,${encodeURIComponent(verifyInNode)}`)) as {
        isOurs: typeof isOurs;
      });
    });

    it('accepts what the service signed', () => {
      expect(isOurs(body, `t=${now},v1=${v1(secret)}`, secret, now)).to.equal(true);
      expect(isOurs(body, `t=${now},v1=${v1('whsec_new')},v1=${v1(secret)}`, secret, now + 300)).to.equal(
        true,
      );
    });
    it('rejects what the service did not sign', () => {
      const headers = [
        `t=${now},v1=${v1('whsec_other')}`,
        `t=${now + 1},v1=${v1(secret)}`,
        `t=${now},v0=${v1(secret)}`,
        `v1=${v1(secret)}`,
        `t=${now},v1=`,
        `t=x,v1=${v1(secret)}`,
        '',
      ];
      for (const header of headers) expect(isOurs(body, header, secret, now), header).to.equal(false);
      expect(
        isOurs(Buffer.concat([body, Buffer.from(' ')]), `t=${now},v1=${v1(secret)}`, secret, now),
      ).to.equal(false);
      expect(isOurs(body, `t=${now},v1=${v1(secret)}`, secret, now + 301)).to.equal(false);
    });
  });

  describe('gives error codes statuses that', () => {
    const specified: Readonly<Record<number, readonly string[]>> = {
      400: [
        'invalid_json',
        'invalid_body',
        'missing_id',
        'invalid_cursor',
        'invalid_idempotency_key',
        'invalid_parameter',
        'invalid_request',
      ],
      401: ['missing_key', 'malformed_key', 'invalid_key', 'revoked_key', 'invalid_hook'],
      402: ['no_credits'],
      403: ['missing_scope', 'hook_disabled', 'suspended'],
      404: ['card_not_found', 'design_not_found', 'not_found'],
      405: ['method_not_allowed'],
      409: ['request_in_progress', 'too_late_to_cancel', 'invalid_transition'],
      413: ['body_too_large'],
      415: ['unsupported_media_type'],
      422: [
        'invalid_recipient',
        'missing_message',
        'message_too_long',
        'broken_merge_field',
        'invalid_date',
        'unknown_handwriting',
        'no_design_available',
        'idempotency_key_reused',
        'missing_name',
        'invalid_birthday',
        'template_incomplete',
        'invalid_url',
        'invalid_events',
        'too_many_endpoints',
        'too_many_designs',
      ],
      429: ['rate_limited'],
      500: [
        'read_failed',
        'create_failed',
        'update_failed',
        'order_failed',
        'production_failed',
        'log_damaged',
        'internal_error',
      ],
      503: ['rehearsal'],
    };
    it('are those of the contract (docs/contract.md#errors)', () => {
      const table: Record<number, string[]> = {};
      for (const [code, status] of Object.entries(statuses)) (table[status] ??= []).push(code);
      expect(table).to.deep.equal(specified);
      expect(Object.keys(statuses).toSorted()).to.deep.equal([...errorCodes].toSorted());
    });
  });
});
