import type { Redis } from 'ioredis';

/** All keys of a pipeline, each as DUMP gives it. */
export type RedisImage = readonly { readonly key: string; readonly bytes: Buffer }[];

export async function imageOf(client: Redis, pipeline: string): Promise<RedisImage> {
  const image: { key: string; bytes: Buffer }[] = [];
  for (const key of await client.keys(`*${pipeline}*`)) {
    const bytes = await client.dumpBuffer(key);
    if (bytes !== null) image.push({ key, bytes });
  }
  return image;
}

/** Puts an image back in one step; keys that it lacks stay. */
export async function restoreImage(client: Redis, image: RedisImage): Promise<void> {
  const commands = client.multi();
  for (const { key, bytes } of image) commands.restore(key, 0, bytes, 'REPLACE');
  await commands.exec();
}
