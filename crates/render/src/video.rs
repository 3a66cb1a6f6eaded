//! MP4 videos that browsers play: H.264 by OpenH264, in a container by muxide.

use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, RateControlMode,
    UsageType, VuiConfig,
};
use openh264::formats::{RgbSliceU8, YUVBuffer};

use crate::error::{RenderError, positive};
use crate::image::{Image, Size, check_size};

/// Bits spent on a pixel of a frame: plenty for smooth gradients.
const BITS_PER_PIXEL: f64 = 0.35;

/// A video being encoded, frame by frame.
///
/// H.264 in MP4 was chosen because every browser plays it; OpenH264 is compiled in from source with
/// nothing but a C++ compiler. Royalty-free AV1 by `rav1e` took some fourteen times as long, and
/// animated PNG many times the bytes.
pub struct Video {
    size: Size,
    frames_per_second: f64,
    frames: usize,
    encoder: Encoder,
    muxer: Muxer<Vec<u8>>,
}

impl std::fmt::Debug for Video {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Video")
            .field("size", &self.size)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl Video {
    /// Start a video of pictures of one size. H.264 wants even sides: an odd last column or row is
    /// dropped.
    pub fn create(size: Size, frames_per_second: f64) -> Result<Self, RenderError> {
        check_size(size)?;
        positive("frame rate", frames_per_second)?;
        let even = size.map(|side| side & !1);
        let pixels = (even[0] * even[1]) as f64;
        let bits = (pixels * frames_per_second * BITS_PER_PIXEL).clamp(1e5, 1e8);
        let config = EncoderConfig::new()
            // The encoder drops frames silently to save bits unless told not to.
            .skip_frames(false)
            .rate_control_mode(RateControlMode::Off)
            .bitrate(BitRate::from_bps(bits as u32))
            .max_frame_rate(FrameRate::from_hz(frames_per_second as f32))
            .usage_type(UsageType::CameraVideoRealTime)
            .intra_frame_period(IntraFramePeriod::from_num_frames(
                frames_per_second.ceil() as u32 * 2,
            ))
            // The conversion of `YUVBuffer` is BT.601, limited range; say so, or hues shift.
            .vui(VuiConfig::bt601())
            // One slice thread: the same bytes whatever the machine.
            .num_threads(1);
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config).map_err(h264)?;
        let muxer = MuxerBuilder::new(Vec::new())
            .video(
                VideoCodec::H264,
                even[0] as u32,
                even[1] as u32,
                frames_per_second,
            )
            .with_fast_start(true)
            .build()
            .map_err(mp4)?;
        Ok(Self {
            size,
            frames_per_second,
            frames: 0,
            encoder,
            muxer,
        })
    }

    /// Add a frame; it must have the size given to [`Video::create`].
    pub fn push(&mut self, image: &Image) -> Result<(), RenderError> {
        let found = [image.width(), image.height()];
        if found != self.size {
            let [expected, found] = [self.size, found].map(|s| s[0] * s[1]);
            return Err(RenderError::Mismatch {
                what: "frame pixels",
                expected,
                found,
            });
        }
        let even = self.size.map(|side| side & !1);
        let rows = image.pixels().chunks_exact(self.size[0]).take(even[1]);
        let bytes: Vec<u8> = rows
            .flat_map(|row| row[..even[0]].as_flattened())
            .copied()
            .collect();
        let yuv = YUVBuffer::from_rgb8_source(RgbSliceU8::new(&bytes, (even[0], even[1])));
        let frame = self.encoder.encode(&yuv).map_err(h264)?;
        let is_key = matches!(frame.frame_type(), FrameType::IDR);
        let time = self.frames as f64 / self.frames_per_second;
        self.muxer
            .write_video(time, &frame.to_vec(), is_key)
            .map_err(mp4)?;
        self.frames += 1;
        Ok(())
    }

    /// Frames pushed so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The bytes of the MP4 file.
    pub fn finish(mut self) -> Result<Vec<u8>, RenderError> {
        if self.frames == 0 {
            return Err(RenderError::EmptyVideo);
        }
        self.muxer.finish_in_place().map_err(mp4)?;
        Ok(self.muxer.into_writer())
    }
}

fn h264(error: openh264::Error) -> RenderError {
    RenderError::H264(error.to_string())
}

fn mp4(error: impl std::fmt::Display) -> RenderError {
    RenderError::Mp4(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: Size, k: usize) -> Image {
        let pixels = (0..size[0] * size[1])
            .map(|i| [(i + 9 * k) as u8, (i / size[0]) as u8, 128])
            .collect();
        Image::from_pixels(size, pixels).unwrap()
    }

    /// The payload of the first box of a kind, at any depth.
    fn find_box<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
        let at = bytes.windows(4).position(|w| w == kind)?;
        let length = u32::from_be_bytes(bytes[at - 4..at].try_into().ok()?) as usize;
        Some(&bytes[at + 4..at - 4 + length])
    }

    fn word(bytes: &[u8], index: usize) -> usize {
        u32::from_be_bytes(bytes[4 * index..][..4].try_into().unwrap()) as usize
    }

    #[test]
    fn no_frame_is_dropped() {
        let mut video = Video::create([64, 48], 24.0).unwrap();
        for k in 0..30 {
            video.push(&frame([64, 48], k)).unwrap();
        }
        let bytes = video.finish().unwrap();
        // stsz: version, sample size, sample count, sizes.
        let sizes = find_box(&bytes, b"stsz").unwrap();
        assert_eq!(word(sizes, 2), 30);
        assert!((0..30).all(|k| word(sizes, 3 + k) > 0));
    }

    #[test]
    fn frames_decode_to_what_went_in() {
        let size = [64, 48];
        let mut video = Video::create(size, 24.0).unwrap();
        let flat = Image::filled(size, [40, 120, 200]).unwrap();
        video.push(&flat).unwrap();
        let bytes = video.finish().unwrap();
        let mut annex_b = Vec::new();
        let parameters = find_box(&bytes, b"avcC").unwrap();
        let sps_length = usize::from(parameters[6]) * 256 + usize::from(parameters[7]);
        let pps_length_at = 8 + sps_length + 1;
        let pps_length = usize::from(parameters[pps_length_at]) * 256
            + usize::from(parameters[pps_length_at + 1]);
        for nal in [
            &parameters[8..][..sps_length],
            &parameters[pps_length_at + 2..][..pps_length],
        ] {
            annex_b.extend_from_slice(&[0, 0, 0, 1]);
            annex_b.extend_from_slice(nal);
        }
        let mut samples = find_box(&bytes, b"mdat").unwrap();
        while samples.len() > 4 {
            let length = word(samples, 0);
            annex_b.extend_from_slice(&[0, 0, 0, 1]);
            annex_b.extend_from_slice(&samples[4..][..length]);
            samples = &samples[4 + length..];
        }
        let mut decoder = openh264::decoder::Decoder::new().unwrap();
        let mut rgb = vec![0; size[0] * size[1] * 3];
        let mut picture = decoder.decode(&annex_b).unwrap();
        if picture.is_none() {
            picture = decoder.flush_remaining().unwrap().pop();
        }
        picture.unwrap().write_rgb8(&mut rgb);
        for (found, sent) in rgb.iter().zip(flat.pixels().as_flattened()) {
            assert!(found.abs_diff(*sent) < 6, "{found} for {sent}");
        }
    }

    #[test]
    fn odd_sizes_and_wrong_frames_are_handled() {
        let mut video = Video::create([65, 49], 30.0).unwrap();
        assert!(video.push(&frame([64, 48], 0)).is_err());
        video.push(&frame([65, 49], 0)).unwrap();
        assert_eq!(video.frames(), 1);
        assert!(!video.finish().unwrap().is_empty());
    }

    #[test]
    fn a_video_without_frames_is_an_error() {
        assert!(matches!(
            Video::create([64, 48], 24.0).unwrap().finish(),
            Err(RenderError::EmptyVideo)
        ));
        assert!(Video::create([64, 48], f64::NAN).is_err());
        assert!(Video::create([0, 48], 24.0).is_err());
    }
}
