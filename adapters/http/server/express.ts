import express from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

const copy = (target: object, ...sources: readonly object[]): void => {
  for (const source of sources) Object.defineProperties(target, Object.getOwnPropertyDescriptors(source));
};

/**
 * An Express application whose requests and responses are created with the prototypes that Express would set
 * on each of them: setting the prototype of an object is what makes Express slow on Node 20 and 22. Mount
 * Routers, not applications: a mounted application sets its own prototypes. `classes` are for
 * `http.createServer`. (docs/engines.md#express)
 */
export const fastExpress = () => {
  const app = express();
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {}
  copy(Request.prototype, express.request, app.request);
  copy(Response.prototype, express.response, app.response);
  Object.assign(app, { request: Request.prototype, response: Response.prototype });
  return { app, classes: { IncomingMessage: Request, ServerResponse: Response } };
};
