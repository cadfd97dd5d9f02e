/** Makes the bucket for voices in the S3-compatible store of compose.yaml, if it is not there; the store may still start. */
import { setTimeout as sleep } from "node:timers/promises";
import { CreateBucketCommand, HeadBucketCommand, S3Client } from "@aws-sdk/client-s3";

const { SONANT_VOICES_S3_BUCKET: bucket, SONANT_VOICES_S3_ENDPOINT: endpoint } = process.env;
if (!process.env.AWS_SECRET_ACCESS_KEY) throw new Error("Set SONANT_S3_SECRET_KEY in deploy/.env.");
const client = new S3Client({ endpoint, forcePathStyle: true });
const exists = () =>
  client.send(new HeadBucketCommand({ Bucket: bucket })).then(
    () => true,
    () => false,
  );

for (let attempt = 1; !(await exists()); attempt += 1) {
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } catch (error) {
    if (attempt === 30) throw error;
    console.error(`The store does not answer yet (${error.message}).`);
    await sleep(1000);
  }
}
console.log(`The bucket ${bucket} is there.`);
