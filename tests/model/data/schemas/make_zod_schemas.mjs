// Writes zod.json: what zod makes of its types with z.toJSONSchema(), by default and, where that
// differs by more than the name of the draft, for input, draft-07, draft-04 and OpenAPI 3.0.
//
// Run in a folder where `npm install zod@4` was run:  node make_zod_schemas.mjs >zod.json

import { z } from "zod";

const formats = ["email", "uuid", "guid", "url", "emoji", "nanoid", "cuid", "cuid2", "ulid", "xid",
  "ksuid", "ipv4", "ipv6", "cidrv4", "cidrv6", "base64", "base64url", "jwt", "hostname", "e164",
  "mac", "hex", "uuidv4", "uuidv7"];
const types = {};
for (const name of formats) types[name] = z[name]();
for (const name of ["date", "time", "datetime", "duration"]) types["iso_" + name] = z.iso[name]();
const tree = z.object({ value: z.string(), get children() { return z.array(tree); } });
Object.assign(types, {
  datetime_offset: z.iso.datetime({ offset: true }),
  datetime_local: z.iso.datetime({ local: true }),
  datetime_precision: z.iso.datetime({ precision: 3 }),
  email_html5: z.email({ pattern: z.regexes.html5Email }),
  email_rfc5322: z.email({ pattern: z.regexes.rfc5322Email }),
  email_unicode: z.email({ pattern: z.regexes.unicodeEmail }),
  email_limits: z.email().min(8).max(30),
  email_domain: z.email().regex(/@example\.com$/),
  sha256: z.hash("sha256"),
  int: z.int(), int32: z.int32(), uint32: z.uint32(), float32: z.float32(), number: z.number(),
  positive: z.number().positive(), negative: z.number().negative(),
  multiple: z.number().multipleOf(5), cents: z.number().nonnegative().multipleOf(0.01),
  step: z.number().step(0.5).min(0).max(10), thirds: z.int().multipleOf(3).min(0).max(100),
  string: z.string(), length: z.string().length(5), limits: z.string().min(1).max(20),
  regex: z.string().regex(/^[a-z]+(?:-[a-z]+)*$/), flags: z.string().regex(/^abc$/i),
  password: z.string().regex(/^(?=.*[a-z])(?=.*\d)(?!.*\s).{8,32}$/),
  several: z.string().regex(/^a/).regex(/z$/).min(3),
  starts: z.string().startsWith("ab.c"), ends: z.string().endsWith(".x"),
  includes: z.string().includes("mid"), both: z.string().startsWith("a").endsWith("b").min(4),
  lowercase: z.string().lowercase(), uppercase: z.string().uppercase(),
  template: z.templateLiteral(["a-", z.number(), "-", z.enum(["x", "y"])]),
  template_max: z.templateLiteral([z.string().min(1), "@", z.string().max(64)]),
  boolean: z.boolean(), null: z.null(), any: z.any(), never: z.object({ a: z.never().optional() }),
  literal: z.literal("x"), literals: z.literal(["a", 1, null, true]), enum: z.enum(["a", "b"]),
  nullable: z.string().nullable(), nullish: z.object({ a: z.email().nullish() }),
  optional: z.object({ a: z.string().optional(), b: z.number() }),
  default: z.object({ a: z.string().default("x"), b: z.number().catch(3) }),
  strict: z.strictObject({ a: z.string() }), loose: z.looseObject({ a: z.string() }),
  catchall: z.object({ a: z.string() }).catchall(z.number()),
  array: z.array(z.number()).min(1).max(3), tuple: z.tuple([z.string(), z.number()]),
  tuple_rest: z.tuple([z.string()], z.number()),
  record: z.record(z.string(), z.number()), record_enum: z.record(z.enum(["a", "b"]), z.number()),
  record_partial: z.partialRecord(z.enum(["a", "b"]), z.number()),
  record_regex: z.record(z.string().regex(/^k_[a-z]+$/), z.boolean()),
  record_uuid: z.record(z.uuid(), z.int()), record_number: z.record(z.number(), z.string()),
  record_loose: z.looseRecord(z.string().regex(/^x/), z.number()),
  union: z.union([z.string(), z.number(), z.null()]),
  discriminated: z.discriminatedUnion("type", [
    z.object({ type: z.literal("a"), x: z.number() }),
    z.object({ type: z.literal("b"), y: z.string() })]),
  xor: z.xor([z.object({ a: z.string() }), z.object({ b: z.number() })]),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
  intersection_text: z.string().min(2).and(z.string().max(5)),
  tree, json: z.json(), readonly: z.array(z.string()).readonly(),
  meta: z.string().meta({ title: "T", description: "D", examples: ["a"] }),
  named: z.object({ u: z.object({ n: z.string() }).meta({ id: "User" }) }),
  order: z.object({
    user: z.object({ id: z.uuid(), email: z.email(), created: z.iso.datetime(),
      url: z.url().optional(), ip: z.ipv4().nullable() }),
    items: z.array(z.object({ sku: z.string().regex(/^[A-Z]{3}-\d{4}$/), count: z.int().positive(),
      price: z.number().nonnegative().multipleOf(0.01) })).min(1),
    meta: z.record(z.string(), z.union([z.string(), z.number()])),
    status: z.enum(["new", "paid"]).default("new"),
  }),
});

const variants = { "": {}, "@input": { io: "input" }, "@draft-07": { target: "draft-07" },
  "@draft-04": { target: "draft-04" }, "@openapi": { target: "openapi-3.0" } };
const lines = [], seen = new Set();
for (const [name, type] of Object.entries(types)) {
  for (const [variant, options] of Object.entries(variants)) {
    const text = JSON.stringify(z.toJSONSchema(type, options));
    const without = text.replace(/"\$schema":"[^"]*",?/, "");
    if (!seen.has(without)) lines.push(`${JSON.stringify(name + variant)}: ${text}`);
    seen.add(without);
  }
}
console.log(`{\n${lines.join(",\n")}\n}`);
