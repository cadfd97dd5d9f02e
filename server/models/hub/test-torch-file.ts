/** The file that torch.save writes, out of a safetensors file: a zip of a pickle and one stored entry a tensor. For tests. */

const STORAGES: Readonly<Record<string, { readonly name: string; readonly bytes: number }>> = {
  F32: { name: "FloatStorage", bytes: 4 },
  BF16: { name: "BFloat16Storage", bytes: 2 },
  I8: { name: "CharStorage", bytes: 1 },
};

interface TensorHeader {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const u16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const text = (value: string) =>
  Buffer.concat([Buffer.from("X"), u32(value.length), Buffer.from(value)]);
const global = (module: string, name: string) => Buffer.from(`c${module}\n${name}\n`);
const integer = (value: number) => Buffer.concat([Buffer.from("J"), u32(value)]);
const tuple = (...items: Buffer[]) => Buffer.concat([Buffer.from("("), ...items, Buffer.from("t")]);
const emptyDict = Buffer.concat([global("collections", "OrderedDict"), Buffer.from(")R")]);

/** `torch._utils._rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())` */
function tensor({ dtype, shape, data_offsets: [from, to] }: TensorHeader, key: number): Buffer {
  const storage = STORAGES[dtype];
  if (storage === undefined) throw new Error(`no storage for ${dtype}`);
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((product, n) => product * n, 1));
  const persistent = tuple(
    text("storage"),
    global("torch", storage.name),
    text(String(key)),
    text("cpu"),
    integer((to - from) / storage.bytes),
  );
  const sizes = [shape, strides].map((numbers) => tuple(...numbers.map(integer)));
  const parts = [persistent, Buffer.from("Q"), integer(0), ...sizes, Buffer.from("\x89", "latin1")];
  return Buffer.concat([
    global("torch._utils", "_rebuild_tensor_v2"),
    tuple(...parts, emptyDict),
    Buffer.from("R"),
  ]);
}

/** Entries as they are, each beginning at a multiple of 64. */
function zip(entries: readonly (readonly [string, Buffer])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, bytes] of entries) {
    const padding = (64 - ((at + 30 + name.length + 4) % 64)) % 64;
    const extra = Buffer.concat([Buffer.from("FB"), u16(padding), Buffer.alloc(padding, "Z")]);
    const common = [u16(0), u16(0), u16(0), u32(0), u32(0), u32(bytes.length), u32(bytes.length)];
    const header = [Buffer.from("PK\x03\x04"), ...common, u16(name.length), u16(extra.length)];
    const local = Buffer.concat([...header, Buffer.from(name), extra]);
    const central = [Buffer.from("PK\x01\x02"), u16(0), ...common, u16(name.length)];
    directory.push(...central, u16(0), u16(0), u16(0), u16(0), u32(0), u32(at), Buffer.from(name));
    parts.push(local, bytes);
    at += local.length + bytes.length;
  }
  const index = Buffer.concat(directory);
  const counts = [u16(entries.length), u16(entries.length)];
  const end = [Buffer.from("PK\x05\x06"), u32(0), ...counts, u32(index.length), u32(at), u16(0)];
  return Buffer.concat([...parts, index, ...end]);
}

/** `pytorch_model.bin` with the tensors of a safetensors file. */
export function torchFile(safetensors: Buffer): Buffer {
  const length = Number(safetensors.readBigUInt64LE(0));
  const header = JSON.parse(safetensors.subarray(8, 8 + length).toString());
  const tensors = Object.entries<TensorHeader>(header).filter(([name]) => name !== "__metadata__");
  const items = tensors.flatMap(([name, value], key) => [text(name), tensor(value, key)]);
  const pickle = [Buffer.from("\x80\x02", "latin1"), emptyDict, Buffer.from("("), ...items];
  return zip([
    ["archive/data.pkl", Buffer.concat([...pickle, Buffer.from("u.")])],
    ["archive/byteorder", Buffer.from("little")],
    ["archive/version", Buffer.from("3\n")],
    ...tensors.map(
      (
        [
          ,
          {
            data_offsets: [from, to],
          },
        ],
        key,
      ): [string, Buffer] => [
        `archive/data/${key}`,
        safetensors.subarray(8 + length + from, 8 + length + to),
      ],
    ),
  ]);
}
