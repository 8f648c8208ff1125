import { expect } from 'chai';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastExpress } from '../../../../adapters/http/server/express.js';
import { call, type Call } from '../../../support/http/http.js';

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );

const furnish = (app: Express, folder: string): Express => {
  const router = express.Router({ mergeParams: true });
  router.get(
    '/inner',
    (request, response) =>
      void response.json({ base: request.baseUrl, original: request.originalUrl, params: request.params }),
  );
  app.get('/params/:a/:b', (request, response) => void response.json(request.params));
  app.get(
    '/query',
    (request, response) =>
      void response.json({
        query: request.query,
        protocol: request.protocol,
        xhr: request.xhr,
        type: request.accepts('json', 'html'),
      }),
  );
  app.get('/redirect', (_, response) => response.redirect(301, '/elsewhere'));
  app.get(
    '/cookies',
    (_, response) => void response.cookie('a', 'b c', { httpOnly: true }).clearCookie('d').send('set'),
  );
  app.get('/file', (_, response) => response.sendFile(join(folder, 'page.html')));
  app.use('/static', express.static(folder));
  app.use('/mounted/:id', router);
  app.post(
    '/json',
    express.json({ limit: 100 }),
    (request, response) =>
      void response
        .status(201)
        .vary('Origin')
        .json({ body: request.body as unknown }),
  );
  app.get('/throws', () => {
    throw Object.assign(new Error('no tea'), { status: 418 });
  });
  app.get('/rejects', () => Promise.reject(new Error('rejected')));
  app.get('/stream', (_, response) => {
    response.locals['part'] = 'two';
    response.write('one ');
    response.end(response.locals['part']);
  });
  app.all('/method', (request, response) => void response.set('X-Method', request.method).sendStatus(202));
  // Express knows an error handler by its four parameters.
  // oxlint-disable-next-line no-unused-vars
  app.use(
    (error: Error & { status?: number }, _request: Request, response: Response, _next: NextFunction) =>
      void response.status(error.status ?? 500).send(error.message),
  );
  return app;
};

const probes: Readonly<Record<string, Call>> = {
  'path parameters': { path: '/params/x%20y/z' },
  'the query and what is accepted': {
    path: '/query?a=1&a=2&b[c]=3',
    headers: { accept: 'text/html', 'x-requested-with': 'XMLHttpRequest' },
  },
  'a redirect': { path: '/redirect' },
  cookies: { path: '/cookies' },
  'a file': { path: '/file' },
  'part of a file': { path: '/file', headers: { range: 'bytes=3-6' } },
  'static files': { path: '/static/page.html' },
  'a missing static file': { path: '/static/missing.html' },
  'a mounted router': { path: '/mounted/7/inner?x=1' },
  'a JSON body': { method: 'POST', path: '/json', body: { a: [1] } },
  'a JSON body over the limit': { method: 'POST', path: '/json', body: { a: 'x'.repeat(200) } },
  'a broken JSON body': {
    method: 'POST',
    path: '/json',
    headers: { 'content-type': 'application/json' },
    body: '{',
  },
  'a handler that throws': { path: '/throws' },
  'a handler that rejects': { path: '/rejects' },
  'a broken path': { path: '/params/%zz/z' },
  'an answer in parts': { path: '/stream' },
  'any method': { method: 'PATCH', path: '/method' },
  HEAD: { method: 'HEAD', path: '/params/a/b' },
  OPTIONS: { method: 'OPTIONS', path: '/params/a/b' },
  'an unknown path': { path: '/nothing' },
};

describe('Express without its setPrototypeOf', () => {
  const folder = mkdtempSync(join(tmpdir(), 'card-express-'));
  writeFileSync(join(folder, 'page.html'), '<p>A page</p>');
  const fast = fastExpress();
  const servers = [
    createServer(furnish(express(), folder)),
    createServer(fast.classes, furnish(fast.app, folder)),
  ];
  const ports: number[] = [];
  before(async () => {
    for (const server of servers) ports.push(await listen(server));
  });
  after(async () => {
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  for (const [name, request] of Object.entries(probes))
    it(`responds as Express does: ${name}`, async () => {
      const [stock, quick] = await Promise.all(ports.map((port) => call({ port }, request)));
      const { date: _, ...expected } = stock?.headers ?? {};
      const { date: __, ...headers } = quick?.headers ?? {};
      expect({ status: quick?.status, headers, text: quick?.text }).to.deep.equal({
        status: stock?.status,
        headers: expected,
        text: stock?.text,
      });
    });

  it('makes requests and responses that need no other prototype', async () => {
    const { app, classes } = fastExpress();
    const seen: unknown[] = [];
    app.use((request, response) => {
      seen.push(
        Object.getPrototypeOf(request) === classes.IncomingMessage.prototype,
        Object.getPrototypeOf(response) === classes.ServerResponse.prototype,
      );
      seen.push(request instanceof classes.IncomingMessage, request.app === app, response.app === app);
      response.end();
    });
    const server = createServer(classes, app);
    await call({ port: await listen(server) }, { path: '/' });
    await new Promise((resolve) => server.close(resolve));
    expect(seen).to.deep.equal([true, true, true, true, true]);
  });
});
