/**
 * Build of the playground. The pages are rendered by the same server that speaks (server/http/pages.ts), so there is no
 * server, image service or address rewriting of Next's own here.
 */

/** @type {import("next").NextConfig} */
const config = {
  poweredByHeader: false,
  reactStrictMode: true,
  compress: true,
  images: { unoptimized: true },
  devIndicators: false,
  // `npm test` checks types on its own.
  typescript: { ignoreBuildErrors: true },
  experimental: { optimizePackageImports: ["radix-ui", "lucide-react"] },
};

export default config;
