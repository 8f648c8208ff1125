import express from 'express';

/**
 * What a stock Express app can do that parses the same body and responds with 201: everything else is
 * compared with it.
 */
const app = express();
app.use(express.json());
app.post('/api/v1/cards', (request, response) => {
  const { message } = request.body as { readonly message: string };
  response.status(201).json({ object: 'card', length: message.length });
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(
    `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : ''}\n`,
  );
});
