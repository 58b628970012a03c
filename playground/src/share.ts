// Links that carry a protocol: it stands deflated in the fragment of the address, which browsers send to nobody.

export interface Shared {
  name: string;
  text: string;
  parameters: Record<string, string>;
  channels: string;
  protocol: string;
}

/** How many bytes a link may unfold to: a text as long as the language allows, however it is written. */
const MOST = 8_000_000;

export async function fragmentOf(shared: Shared): Promise<string> {
  const stream = new Blob([JSON.stringify(shared)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return 'p=' + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Return what a link carries; throw what is wrong with it. */
export async function sharedIn(fragment: string): Promise<Shared> {
  try {
    const binary = atob(fragment.slice(2).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return shared(JSON.parse(await limited(stream)));
  } catch (problem) {
    throw new Error(problem instanceof RangeError ? 'This link unfolds to more than a protocol may have.' : 'This link is damaged: the protocol in it cannot be read.');
  }
}

async function limited(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MOST) {
      await reader.cancel();
      throw new RangeError();
    }
    text += decoder.decode(value, { stream: true });
  }
}

function shared(data: Partial<Record<keyof Shared, unknown>>): Shared {
  const text = (value: unknown) => {
    if (typeof value !== 'string') throw new TypeError();
    return value;
  };
  const parameters = Object.entries(data.parameters ?? {}).map(([name, value]) => [name, text(value)]);
  return {
    name: text(data.name),
    text: text(data.text),
    parameters: Object.fromEntries(parameters),
    channels: text(data.channels),
    protocol: text(data.protocol),
  };
}
