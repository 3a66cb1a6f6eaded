//! Pictures in memory: 8-bit sRGB, captions, PNG files.

use font8x8::UnicodeFonts;

use crate::error::RenderError;

/// Longest side of a picture, in pixels.
pub(crate) const LONGEST_SIDE: usize = 8192;
/// Side of a glyph of the built-in font, in font pixels.
const GLYPH: usize = 8;

/// A width and a height in pixels.
pub type Size = [usize; 2];

/// Refuse sizes that no picture should have.
pub(crate) fn check_size([width, height]: Size) -> Result<(), RenderError> {
    let fits = |side: usize| (2..=LONGEST_SIDE).contains(&side);
    if fits(width) && fits(height) {
        Ok(())
    } else {
        Err(RenderError::BadSize {
            width,
            height,
            limit: LONGEST_SIDE,
        })
    }
}

/// An 8-bit sRGB picture, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Image {
    /// A picture of one colour.
    pub fn filled(size: Size, colour: [u8; 3]) -> Result<Self, RenderError> {
        check_size(size)?;
        Ok(Self {
            width: size[0],
            height: size[1],
            pixels: vec![colour; size[0] * size[1]],
        })
    }

    /// A picture of given pixels, rows from the top.
    pub fn from_pixels(size: Size, pixels: Vec<[u8; 3]>) -> Result<Self, RenderError> {
        check_size(size)?;
        if pixels.len() != size[0] * size[1] {
            return Err(RenderError::Mismatch {
                what: "pixels",
                expected: size[0] * size[1],
                found: pixels.len(),
            });
        }
        Ok(Self {
            width: size[0],
            height: size[1],
            pixels,
        })
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels in rows from the top.
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    /// The colour of a pixel; black outside the picture.
    pub fn get(&self, x: usize, y: usize) -> [u8; 3] {
        if x < self.width && y < self.height {
            self.pixels[y * self.width + x]
        } else {
            [0; 3]
        }
    }

    /// Colour a pixel; nothing happens outside the picture.
    pub fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            self.pixels[y * self.width + x] = colour;
        }
    }

    /// Pictures in a row, tops aligned, on white.
    pub fn side_by_side(images: &[Image]) -> Result<Image, RenderError> {
        const GAP: usize = 4;
        let width = images
            .iter()
            .map(|i| i.width + GAP)
            .sum::<usize>()
            .saturating_sub(GAP);
        let height = images.iter().map(|i| i.height).max().unwrap_or(0);
        let mut row = Image::filled([width, height], [255; 3])?;
        let mut left = 0;
        for image in images {
            for y in 0..image.height {
                let line = &image.pixels[y * image.width..][..image.width];
                row.pixels[y * width + left..][..image.width].copy_from_slice(line);
            }
            left += image.width + GAP;
        }
        Ok(row)
    }

    /// Write ASCII text with its top left corner at `at`, each font pixel `scale` pixels wide.
    ///
    /// A soft dark halo keeps it legible on any ground. Characters without a glyph are left blank;
    /// text beyond the border is cut off.
    pub fn draw_text(&mut self, text: &str, at: [usize; 2], scale: usize, colour: [u8; 3]) {
        let scale = scale.max(1);
        for (place, character) in text.chars().enumerate() {
            let Some(rows) = font8x8::BASIC_FONTS.get(character) else {
                continue;
            };
            let left = at[0] + place * GLYPH * scale;
            let lit = |x: usize, y: usize| rows[y] >> x & 1 == 1;
            let mut stamp =
                |x: usize, y: usize, shift: usize, blend: &dyn Fn([u8; 3]) -> [u8; 3]| {
                    for (i, j) in (0..scale * scale).map(|k| (k % scale, k / scale)) {
                        let (px, py) =
                            (left + x * scale + i + shift, at[1] + y * scale + j + shift);
                        self.set(px, py, blend(self.get(px, py)));
                    }
                };
            let dots = || {
                (0..GLYPH * GLYPH)
                    .map(|k| (k % GLYPH, k / GLYPH))
                    .filter(|&(x, y)| lit(x, y))
            };
            for (x, y) in dots() {
                stamp(x, y, scale.div_ceil(2), &|under| {
                    under.map(|c| (u16::from(c) * 3 / 5) as u8)
                });
            }
            for (x, y) in dots() {
                stamp(x, y, 0, &|_| colour);
            }
        }
    }

    /// A PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, RenderError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_reads_back_the_same_pixels() {
        let pixels = (0..6 * 4).map(|i| [i as u8, 255 - i as u8, 7]).collect();
        let image = Image::from_pixels([6, 4], pixels).unwrap();
        let bytes = image.to_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut back).unwrap();
        assert_eq!(back, image.pixels().as_flattened());
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Image::filled([0, 5], [0; 3]).is_err());
        assert!(Image::filled([5, 100_000], [0; 3]).is_err());
        assert!(Image::from_pixels([3, 3], vec![[0; 3]; 8]).is_err());
        assert!(Image::side_by_side(&[]).is_err());
    }

    #[test]
    fn side_by_side_keeps_both_pictures() {
        let red = Image::filled([3, 5], [255, 0, 0]).unwrap();
        let blue = Image::filled([4, 2], [0, 0, 255]).unwrap();
        let both = Image::side_by_side(&[red, blue]).unwrap();
        assert_eq!([both.width(), both.height()], [3 + 4 + 4, 5]);
        assert_eq!(both.get(0, 4), [255, 0, 0]);
        assert_eq!(both.get(10, 1), [0, 0, 255]);
        assert_eq!(both.get(10, 2), [255; 3]);
    }

    #[test]
    fn text_marks_pixels_and_stops_at_the_border() {
        let mut image = Image::filled([40, 12], [0; 3]).unwrap();
        image.draw_text("slip, separating \u{1F30A}", [2, 2], 2, [255; 3]);
        assert!(image.pixels().iter().filter(|p| **p == [255; 3]).count() > 20);
    }
}
