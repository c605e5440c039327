import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A TCP proxy whose links a test can spoil. It passes everything on until told otherwise.
 */
export type TcpProxy = {
  readonly port: number;
  /** Connections that were accepted so far. */
  readonly accepted: number;
  /** Takes bytes and passes nothing on, either way, on links that exist and on new ones. */
  blackhole(): void;
  /** Passes on again; what was swallowed stays lost, so links that were spoilt are reset. */
  heal(): void;
  /** Links lead to another server from now on; those that exist are reset. */
  lead(targetPort: number): void;
  /** Resets every link. */
  reset(): void;
  /** Resets a link after it has passed this many more bytes to the server; those are passed on. */
  resetAfter(bytesToServer: number): void;
  close(): Promise<void>;
};

export async function startTcpProxy(firstTargetPort: number): Promise<TcpProxy> {
  let targetPort = firstTargetPort;
  const links = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let isBlack = false;
  let bytesLeft = Number.POSITIVE_INFINITY;
  let accepted = 0;

  const reset = (): void => {
    for (const { client, server } of links) {
      client.resetAndDestroy();
      server.destroy();
    }
    links.clear();
  };

  const listener = createServer((client) => {
    accepted++;
    const server = connect(targetPort, '127.0.0.1');
    const link = { client, server };
    links.add(link);
    const end = (): void => {
      links.delete(link);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    let isCut = false;
    client.on('data', (bytes: Buffer) => {
      if (isBlack || isCut) return;
      if (bytes.length < bytesLeft) {
        bytesLeft -= bytes.length;
        server.write(bytes);
        return;
      }
      isCut = true;
      const last = bytes.subarray(0, bytesLeft);
      bytesLeft = Number.POSITIVE_INFINITY;
      // The server gets what came before the cut; the client gets no answer any more.
      server.removeAllListeners('data');
      server.write(last, () => {
        server.end();
        client.resetAndDestroy();
      });
    });
    server.on('data', (bytes: Buffer) => {
      if (!isBlack) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });

  return {
    port: (listener.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    blackhole: () => {
      isBlack = true;
    },
    heal: () => {
      isBlack = false;
      reset();
    },
    lead: (port) => {
      targetPort = port;
      reset();
    },
    reset,
    resetAfter: (bytesToServer) => {
      bytesLeft = bytesToServer;
    },
    close: () =>
      new Promise<void>((resolve) => {
        listener.close(() => resolve());
        reset();
      }),
  };
}
